import type { Static } from 'typebox'
import type { Message, MessagePart } from '../../schema/http/messages.ts'
import type { Session } from '../../schema/http/sessions.ts'
import type { Paint } from './paint.ts'
import { ageOf } from './render-age.ts'
import { renderMark, separator } from './render-mark.ts'
import { renderAnswer } from './render-request.ts'
import { indent, shorten } from './render-text.ts'
import { renderTool } from './render-tool.ts'
import { marksBetween, type TranscriptNotes } from './transcript-notes.ts'
import { visible, visibleLine } from './visible.ts'

export type TranscriptView = {
  /** Whole outputs and thoughts. */
  readonly full: boolean
  readonly columns: number
  readonly paint: Paint
  readonly now: number
  /** What the events of the session say beside its messages. */
  readonly notes?: TranscriptNotes
  readonly sessionId?: string
}

/** How far a transcript is printed: the turn that was said last, and the place that marks are told to. */
export type Printed = { readonly turnId?: string | undefined; readonly seq: number }

type MessageReply = Static<typeof Message>
type PartReply = Static<typeof MessagePart>

/** What the session is, in a line or two. */
export const renderHead = (session: Static<typeof Session>, view: TranscriptView): string => {
  const { paint } = view
  const model = session.model && `${session.model.providerId}/${session.model.modelId}`
  const facts = [
    session.status.replace('_', ' '),
    session.agent,
    model,
    session.location?.directory,
    session.usage.cost > 0 ? `$${session.usage.cost}` : undefined,
    ageOf(session.updatedAt, view.now),
  ].filter((fact) => fact !== undefined)
  const title = visibleLine(session.title ?? session.sessionId)
  return `${paint('bold', title)}\n${paint('dim', visibleLine(`${session.sessionId} · ${facts.join(' · ')}`))}\n`
}

/**
 * Messages in the order of the transcript, with a line between turns, and what the notes of the view
 * tell between them and, up to `throughSeq`, behind the last one.
 */
export const renderMessages = (
  messages: readonly MessageReply[],
  view: TranscriptView,
  printed: Printed,
  throughSeq = 0,
): { readonly text: string; readonly printed: Printed } => {
  let { turnId, seq } = printed
  const blocks: string[] = []
  const tell = (sessionId: string, through: number): void => {
    if (!view.notes || through <= seq) return
    for (const mark of marksBetween(view.notes, sessionId, seq, through)) {
      blocks.push(renderMark(mark, view))
      if (mark.type === 'turn.started') turnId = mark.data.turnId
    }
    seq = through
  }
  const own = view.sessionId
  for (const message of messages) {
    // Places in other sessions are not of this one's order.
    if (message.sessionId === own && own !== undefined) tell(own, message.seq - 1)
    if (message.turnId !== undefined && message.turnId !== turnId) {
      blocks.push(separator(message.createdAt, message.turnId, view))
      turnId = message.turnId
    }
    blocks.push(renderMessage(message, view))
  }
  if (own !== undefined) tell(own, throughSeq)
  return { text: blocks.map((block) => `\n${block}\n`).join(''), printed: { turnId, seq } }
}

const renderMessage = (message: MessageReply, view: TranscriptView): string => {
  const { paint } = view
  switch (message.type) {
    case 'user':
      return message.origin === 'answer' ? answer(message, view) : input(message, view)
    case 'assistant':
      return assistant(message, view)
    case 'shell':
      return [
        paint('yellow', `$ ${visibleLine(message.command ?? '')}`),
        ...body(message.output, view),
        ...(message.exit === undefined ? [] : [indent(paint('dim', `exit ${message.exit}`))]),
      ].join('\n')
    case 'compaction':
      return [
        paint('magenta', visibleLine(`compaction (${message.reason}, ${message.status})`)),
        ...body(message.summary, view),
      ].join('\n')
    case 'agent-selected':
      return paint('dim', `agent: ${visibleLine(message.agent ?? '?')}`)
    case 'model-selected':
      return paint('dim', `model: ${modelName(message.model)}`)
    case 'system':
    case 'synthetic':
      return [paint('dim', message.type), ...body(message.text, view)].join('\n')
    default:
      return paint('dim', visibleLine(String(message.type)))
  }
}

const input = (message: MessageReply, { paint }: TranscriptView): string =>
  [
    paint('cyan', 'user'),
    ...(message.text ? [indent(visible(message.text))] : []),
    ...(message.files ?? []).map((file) =>
      indent(paint('dim', `file: ${visibleLine(file.name ?? file.uri ?? file.mediaType)}`)),
    ),
  ].join('\n')

const answer = (message: MessageReply, { paint, notes }: TranscriptView): string => {
  const by = message.by ? ` by ${visibleLine(message.by.subject)}` : ''
  const asked = notes?.requests.get(message.requestId ?? '')?.opened
  const lines = renderAnswer(message, asked)
  return [paint('cyan', `user, answer${by}`), ...lines.map((line) => indent(line))].join('\n')
}

const assistant = (message: MessageReply, view: TranscriptView): string => {
  const { paint } = view
  const attempt = (message.attempt ?? 1) > 1 ? `, attempt ${message.attempt}` : ''
  const who = visibleLine(`${message.agent ?? 'assistant'} (${modelName(message.model)}${attempt})`)
  return [
    paint('green', who),
    ...(view.notes?.retries.get(message.messageId) ?? []).map(({ attempt: next, error }) => {
      const why = visible(`${error.kind}${error.message ? `, ${error.message}` : ''}`)
      return indent(paint('yellow', `attempt ${next - 1} failed: ${why}; tried again`))
    }),
    ...(message.parts ?? []).map((part) => indent(renderPart(part, view))),
    ...ending(message, view),
  ].join('\n')
}

const renderPart = (part: PartReply, view: TranscriptView): string => {
  const { paint } = view
  if (part.excluded !== undefined) return paint('dim', `left out: ${visibleLine(part.excluded)}`)
  switch (part.type) {
    case 'text':
      return visible(part.text ?? '') + (part.partial ? paint('dim', ' (cut off)') : '')
    case 'reasoning': {
      const thought = shorten(visible(part.text ?? ''), view.full)
      return paint('dim', `thinks: ${thought}${part.partial ? ' (cut off)' : ''}`)
    }
    case 'tool':
      return renderTool(part, view)
    default:
      return paint('dim', visibleLine(String(part.type)))
  }
}

/** How the step ended, where that says more than that the agent went on or was done. */
const ending = (message: MessageReply, { paint }: TranscriptView): string[] => {
  if (message.error) {
    const { kind, message: why } = message.error
    return [indent(paint('red', visible(`failed: ${kind}${why ? `, ${why}` : ''}`)))]
  }
  if (message.completedAt === undefined) return [indent(paint('yellow', 'running'))]
  if (message.finish === 'stop' || message.finish === 'tool-calls') return []
  return [indent(paint('yellow', visibleLine(`finish: ${message.finish ?? 'none'}`)))]
}

const body = (text: string | undefined, view: TranscriptView): string[] =>
  text ? [indent(shorten(visible(text), view.full))] : []

const modelName = (model: MessageReply['model']): string =>
  model
    ? visibleLine(
        `${model.providerId}/${model.modelId}${model.variant && model.variant !== 'default' ? `:${model.variant}` : ''}`,
      )
    : 'no model'
