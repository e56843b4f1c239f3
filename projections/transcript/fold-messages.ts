import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { MessageData, MessageRow, MessageType } from './rows.ts'
import { putMessage, type TranscriptView } from './view.ts'

type Changed<T> = { [K in keyof T]?: T[K] | undefined }

/** The row without the members that are undefined: rows are JSON, which has no such value. */
export const compact = <T>(data: Changed<T>): T => {
  for (const key of Object.keys(data) as (keyof T)[]) if (data[key] === undefined) delete data[key]
  return data as T
}

/** A new row; for a message that is there already (a fold that was repeated) nothing happens. */
export const startMessage = (
  view: TranscriptView,
  event: StoredEvent,
  messageId: string,
  type: MessageType,
  place: number | null,
  data: Omit<MessageData, 'createdAt'>,
): void => {
  if (view.messages.has(messageId)) return
  const turnId = view.progress.turnId
  const inTurn = turnId !== undefined && type === 'assistant'
  putMessage(view, {
    messageId,
    place,
    firstSeq: event.seq,
    lastSeq: event.seq,
    type,
    data: { createdAt: event.occurredAt, ...(inTurn && { turnId }), ...data },
  })
}

export const changeMessage = (
  view: TranscriptView,
  event: StoredEvent,
  messageId: string | undefined,
  change: (data: MessageData) => Changed<MessageData>,
): void => {
  const row = messageId === undefined ? undefined : view.messages.get(messageId)
  if (!row) return
  putMessage(view, { ...row, lastSeq: event.seq, data: compact(change(row.data)) })
}

/** Notes that something of the message changed at this event. */
export const touchMessage = (view: TranscriptView, event: StoredEvent, row: MessageRow): void =>
  putMessage(view, { ...row, lastSeq: event.seq })

/** Rule 8: the user row stands where its input was delivered. */
export const placeInput = (
  view: TranscriptView,
  event: Extract<StoredEvent, { type: 'input.delivered' }>,
): void => {
  const row = view.messages.get(event.data.messageId)
  if (!row || row.place !== null) return
  putMessage(view, {
    ...row,
    place: event.seq,
    lastSeq: event.seq,
    data: { ...row.data, turnId: event.data.turnId },
  })
}

/** An answer is a user row of its own, placed at the answer. */
export const answerRow = (
  view: TranscriptView,
  event: Extract<StoredEvent, { type: 'request.answered' }>,
): void => {
  const { requestId, messageId, answers, decision, action, message, content, by } = event.data
  startMessage(
    view,
    event,
    messageId,
    'user',
    event.seq,
    compact<Omit<MessageData, 'createdAt'>>({
      origin: 'answer',
      requestId,
      answers,
      decision,
      action,
      message,
      content,
      by,
    }),
  )
}
