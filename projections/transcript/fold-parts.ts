import type { StoredEvent } from '../../schema/events/envelope.ts'
import { compact, touchMessage } from './fold-messages.ts'
import { partKey, type PartData, type PartRow } from './rows.ts'
import { putMessage, putPart, type TranscriptView } from './view.ts'

type Changed<T> = { [K in keyof T]?: T[K] | undefined }
type TextEnd = Extract<StoredEvent, { type: 'text.ended' | 'reasoning.ended' }>

export const startText = (
  view: TranscriptView,
  event: Extract<StoredEvent, { type: 'text.started' | 'reasoning.started' }>,
  partId: string,
  type: 'text' | 'reasoning',
): void => addPart(view, event, event.data.messageId, partId, type, { text: '' }, null)

export const endText = (view: TranscriptView, event: TextEnd, type: 'text' | 'reasoning'): void => {
  const { messageId, partId, text, partial, mustStay, providerState } = event.data
  const data = compact<PartData>({ text, partial, mustStay, providerState })
  const row = currentPart(view, messageId, partId)
  if (row) writePart(view, event, { ...row, endSeq: event.seq, data })
  else addPart(view, event, messageId, partId, type, data, event.seq)
}

/** The input of a call, or the call: whichever comes first brings the part. */
export const startCall = (
  view: TranscriptView,
  event: Extract<StoredEvent, { type: 'tool.input.started' | 'tool.input.ended' | 'tool.called' }>,
  change: Changed<PartData>,
): void => {
  const { messageId, callId } = event.data
  const row = currentPart(view, messageId, callId)
  const created = row?.data.times?.created ?? event.occurredAt
  const times =
    event.type === 'tool.called'
      ? { created, called: event.occurredAt }
      : { ...row?.data.times, created }
  const data = compact<PartData>({
    ...row?.data,
    outcome: undefined,
    error: undefined,
    ...change,
    times,
  })
  if (row) writePart(view, event, { ...row, endSeq: null, data })
  else addPart(view, event, messageId, callId, 'tool', data, null)
}

/** The call's end; after an importer's closing the source's own end replaces it. */
export const settleCall = (
  view: TranscriptView,
  event: Extract<StoredEvent, { type: 'tool.settled' }>,
): void => {
  const { messageId, callId, outcome, content, structured, error, providerState } = event.data
  const row = currentPart(view, messageId, callId)
  if (!row) return
  const data = compact<PartData>({
    ...row.data,
    status: 'settled',
    waitingFrom: undefined,
    outcome,
    content,
    structured,
    error,
    ...(providerState !== undefined && { providerState }),
    times: { ...row.data.times!, settled: event.occurredAt },
  })
  writePart(view, event, { ...row, endSeq: event.seq, data })
}

export const changePart = (
  view: TranscriptView,
  event: StoredEvent,
  messageId: string,
  partId: string,
  change: (data: PartData) => Changed<PartData>,
): void => {
  const row = newestPart(view, messageId, partId)
  if (row) writePart(view, event, { ...row, data: compact<PartData>(change(row.data)) })
}

/** The part as it is in the message's current attempt. */
const currentPart = (
  view: TranscriptView,
  messageId: string,
  partId: string,
): PartRow | undefined =>
  view.parts.get(partKey(messageId, view.messages.get(messageId)?.data.attempt ?? 1, partId))

/** The part in the newest attempt that has it: what is said of it later may come after a retry. */
const newestPart = (
  view: TranscriptView,
  messageId: string,
  partId: string,
): PartRow | undefined => {
  for (let attempt = view.messages.get(messageId)?.data.attempt ?? 1; attempt >= 1; attempt -= 1) {
    const row = view.parts.get(partKey(messageId, attempt, partId))
    if (row) return row
  }
  return undefined
}

const addPart = (
  view: TranscriptView,
  event: StoredEvent,
  messageId: string,
  partId: string,
  type: PartRow['type'],
  data: PartData,
  endSeq: number | null,
): void => {
  const message = view.messages.get(messageId)
  if (!message || currentPart(view, messageId, partId)) return
  const index = message.data.partCount ?? 0
  putMessage(view, {
    ...message,
    lastSeq: event.seq,
    data: { ...message.data, partCount: index + 1 },
  })
  putPart(view, {
    messageId,
    attempt: message.data.attempt ?? 1,
    partId,
    index,
    startSeq: event.seq,
    endSeq,
    type,
    data,
  })
}

const writePart = (view: TranscriptView, event: StoredEvent, row: PartRow): void => {
  putPart(view, row)
  const message = view.messages.get(row.messageId)
  if (message) touchMessage(view, event, message)
}
