import type { Static } from 'typebox'
import type { Session } from '../../schema/http/sessions.ts'
import { displayWidth, fit, pad } from './display-width.ts'
import type { Paint, Style } from './paint.ts'
import { ageOf } from './render-age.ts'
import { visibleLine } from './visible.ts'

export type SessionsView = {
  /** Milliseconds of the epoch from which ages are told. */
  readonly now: number
  readonly columns: number
  readonly paint: Paint
  /** Whether the list goes on. */
  readonly more: boolean
  readonly searched: boolean
}

type Row = Pick<Static<typeof Session>, 'sessionId' | 'title' | 'status' | 'updatedAt' | 'archived'>

const statusWords = {
  idle: 'idle',
  running: 'running',
  requires_action: 'waits for you',
} as const satisfies Record<Row['status'], string>

const statusStyles = {
  idle: 'dim',
  running: 'green',
  requires_action: 'yellow',
} as const satisfies Record<Row['status'], Style>

const fewestTitleColumns = 16

/** The list as a table that fits the terminal: the title gives way, an id never does. */
export const renderSessions = (sessions: readonly Row[], view: SessionsView): string => {
  if (sessions.length === 0) return empty(view)
  const { paint } = view
  const rows = sessions.map((session) => ({
    id: visibleLine(session.sessionId),
    status: statusWords[session.status] ?? session.status,
    style: statusStyles[session.status] ?? 'dim',
    age: ageOf(session.updatedAt, view.now),
    title: visibleLine(session.title ?? ''),
  }))
  const idColumns = widest(
    rows.map(({ id }) => id),
    'SESSION',
  )
  const statusColumns = widest(
    rows.map(({ status }) => status),
    'STATUS',
  )
  const ageColumns = widest(
    rows.map(({ age }) => age),
    'UPDATED',
  )
  const taken = idColumns + statusColumns + ageColumns + 6
  const titleColumns = Math.max(fewestTitleColumns, view.columns - taken)
  const line = (id: string, status: string, age: string, title: string): string =>
    `${id}  ${status}  ${age}  ${title}`.trimEnd()
  const head = line(
    pad('SESSION', idColumns),
    pad('STATUS', statusColumns),
    pad('UPDATED', ageColumns),
    'TITLE',
  )
  const body = rows.map(({ id, status, style, age, title }) =>
    line(
      pad(id, idColumns),
      paint(style, pad(status, statusColumns)),
      pad(age, ageColumns),
      title === '' ? paint('dim', 'no title') : fit(title, titleColumns),
    ),
  )
  const more = view.more ? [paint('dim', 'there are more: --limit <n>')] : []
  return [paint('bold', head), ...body, ...more, ''].join('\n')
}

const empty = ({ searched }: SessionsView): string =>
  searched
    ? 'no session has that in its title\n'
    : 'there are no sessions yet: bring some in with "stemma import <file>…"\n'

const widest = (texts: readonly string[], heading: string): number =>
  Math.max(heading.length, ...texts.map(displayWidth))
