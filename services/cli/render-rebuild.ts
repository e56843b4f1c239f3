import type { RebuildProgress } from '../projector/rebuild/read-rebuild.ts'

/** How a rebuild stands, in one line. */
export const renderRebuild = (progress: RebuildProgress, eventsPerSecond: number): string => {
  const { generation, phase, sessions, filledSessions, verifiedSessions } = progress
  const compared = `compared ${partOf(verifiedSessions, sessions)}`
  const what = {
    filling: `${partOf(filledSessions, sessions)}, ${Math.round(eventsPerSecond)} events/s`,
    verifying: compared,
    differs: `${compared}, and they differ`,
    removing: 'removing the rows that are not needed any more',
    done: 'done',
  }[phase]
  return `generation ${generation}: ${what}`
}

const partOf = (part: number, whole: number): string =>
  `${part} of ${whole} sessions (${whole === 0 ? 100 : Math.floor((part / whole) * 100)} %)`
