import type { Envelope } from '../../schema/events/envelope.ts'
import type { LiveOut } from '../../schema/socket/live.ts'
import { fit, pad } from './display-width.ts'
import type { Paint, Style } from './paint.ts'
import { visibleLine } from './visible.ts'

export type EventView = {
  readonly columns: number
  readonly paint: Paint
  /** Of many sessions, each line says which. */
  readonly withSession: boolean
}

/** An event on one line: seq, time, type, and the beginning of what it says. */
export const renderEvent = (envelope: Envelope, view: EventView): string => {
  const { seq, occurredAt, type, sessionId, data } = envelope
  const time = occurredAt.slice(0, 19).replace('T', ' ')
  return lineOf(view, styleOf(type), [String(seq), time, type, sessionId], contentOf(type, data))
}

/** What a part is saying, as a line beside those of events. */
export const renderLive = (frame: LiveOut, view: EventView): string => {
  const what = 'resync' in frame ? 'gap' : frame.kind
  const said = 'resync' in frame ? '' : 'delta' in frame ? frame.delta : frame.replace
  const about = `${frame.messageId}/${frame.partId}`
  return lineOf(view, 'dim', ['', '', `live ${what}`, ''], `${about} ${said}`)
}

const seqColumns = 6
const timeColumns = 19
const typeColumns = 20

const lineOf = (
  { columns, paint, withSession }: EventView,
  style: Style,
  [seq, time, type, sessionId]: readonly [string, string, string, string],
  content: string,
): string => {
  const session = withSession ? `${pad(visibleLine(sessionId), 12)}  ` : ''
  const start = `${session}${visibleLine(seq).padStart(seqColumns)}  `
  const when = visibleLine(time).padEnd(timeColumns)
  const name = pad(visibleLine(type), typeColumns)
  const used = start.length + when.length + name.length + 4
  const rest = fit(visibleLine(content), Math.max(20, columns - used))
  return `${`${start}${paint('dim', when)}  ${paint(style, name)}  ${rest}`.trimEnd()}\n`
}

/** The members that tell what an event of a type is about; of other types all is shown. */
const telling: Readonly<Record<string, readonly string[]>> = {
  'session.created': ['title', 'agent'],
  'session.renamed': ['title'],
  'session.moved': ['location.directory'],
  'agent.selected': ['agent'],
  'model.selected': ['model.modelId'],
  'input.admitted': ['text', 'messageId'],
  'input.delivered': ['messageId'],
  'turn.started': ['turnId', 'ownerId'],
  'turn.claimed': ['ownerId', 'fromOwnerId', 'turnId'],
  'turn.released': ['turnId'],
  'turn.interrupt.requested': ['reason', 'by.subject', 'turnId'],
  'turn.ended': ['outcome', 'interrupt.reason', 'error.message', 'turnId'],
  'step.started': ['agent', 'model.modelId', 'messageId'],
  'step.retried': ['attempt', 'error.kind', 'error.message', 'messageId'],
  'step.ended': ['finish', 'messageId'],
  'step.failed': ['error.kind', 'error.message', 'messageId'],
  'text.started': ['messageId', 'partId'],
  'text.ended': ['text', 'messageId'],
  'reasoning.started': ['messageId', 'partId'],
  'reasoning.ended': ['text', 'messageId'],
  'tool.input.started': ['name', 'callId'],
  'tool.input.ended': ['text', 'callId'],
  'tool.called': ['name', 'input', 'callId'],
  'tool.dispatched': ['callId'],
  'tool.settled': ['outcome', 'error.message', 'content.0.text', 'callId'],
  'tool.resolved': ['outcome', 'evidence', 'callId'],
  'request.opened': ['kind', 'questions.0.question', 'permission', 'requestId'],
  'request.answered': ['answers', 'decision', 'message', 'requestId'],
  'request.closed': ['reason', 'requestId'],
  'permission.granted': ['rule.decision', 'rule.action', 'rule.resources'],
  'permission.revoked': ['rule.action', 'rule.resources', 'rule.requestId'],
  'compaction.ended': ['summary'],
  'shell.started': ['command', 'messageId'],
  'shell.ended': ['exit', 'output', 'messageId'],
  'note.added': ['text', 'messageId'],
}

const contentOf = (type: string, data: unknown): string => {
  const members = Object.hasOwn(telling, type) ? telling[type] : undefined
  const words = members?.map((path) => at(data, path)).filter((value) => value !== undefined)
  if (!words) return textOf(data)
  return words.map(textOf).join(' ')
}

/** Data may be of another version than we know: whatever is not there is not shown. */
const at = (data: unknown, path: string): unknown => {
  let value = data
  for (const member of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) {
      return undefined
    }
    value = (value as Readonly<Record<string, unknown>>)[member]
  }
  return value
}

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value
  const text = JSON.stringify(value) ?? ''
  return text === '{}' ? '' : text
}

const styleOf = (type: string): Style => {
  const family = type.split('.')[0]!
  if (type === 'step.failed' || type === 'session.deleted') return 'red'
  return Object.hasOwn(styles, family) ? styles[family]! : 'dim'
}

const styles: Readonly<Record<string, Style>> = {
  session: 'bold',
  input: 'cyan',
  request: 'yellow',
  turn: 'magenta',
  text: 'green',
  tool: 'blue',
  shell: 'yellow',
}
