import type { RebuildProgress } from '../projector/rebuild/read-rebuild.ts'

/** How a rebuild stands, in one line. */
export const renderRebuild = (progress: RebuildProgress, eventsPerSecond: number): string => {
  const { generation, phase, sessions, filledSessions, verifiedSessions } = progress
  switch (phase) {
    case 'filling':
      return (
        `generation ${generation}: ${filledSessions} of ${sessions} sessions ` +
        `(${percent(filledSessions, sessions)}), ${Math.round(eventsPerSecond)} events/s`
      )
    case 'verifying':
    case 'differs':
      return (
        `generation ${generation}: compared ${verifiedSessions} of ${sessions} sessions ` +
        `(${percent(verifiedSessions, sessions)})` +
        (phase === 'differs' ? ', and they differ' : '')
      )
    case 'removing':
      return `generation ${generation}: removing the rows that are not needed any more`
    case 'done':
      return `generation ${generation}: done`
  }
}

const percent = (part: number, whole: number): string =>
  `${whole === 0 ? 100 : Math.floor((part / whole) * 100)} %`
