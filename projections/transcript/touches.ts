import { isKnownType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { own } from './own.ts'
import type { TranscriptProgress } from './rows.ts'

export type Touched = {
  readonly messageIds: readonly string[]
  /** Parts by message, of whatever attempt. */
  readonly parts: readonly { readonly messageId: string; readonly partId: string }[]
}

const nothing: Touched = { messageIds: [], parts: [] }

/** The rows that an event may change: all that must be loaded before it is folded. */
export const touches = (event: StoredEvent, progress: TranscriptProgress): Touched => {
  if (!isKnownType(event.type)) return nothing
  const data = event.data as {
    messageId?: string
    partId?: string
    callId?: string
    requestId?: string
    compactionId?: string
  }
  if (event.type === 'request.answered' || event.type === 'request.closed') {
    const request = own(progress.requests, data.requestId)
    return {
      messageIds: [
        ...(event.type === 'request.answered' && data.messageId !== undefined
          ? [data.messageId]
          : []),
        ...(request ? [request.messageId] : []),
      ],
      parts: request ? [{ messageId: request.messageId, partId: request.callId }] : [],
    }
  }
  if (event.type === 'compaction.ended' || event.type === 'compaction.failed') {
    const messageId = own(progress.compactions, data.compactionId)
    return messageId === undefined ? nothing : { messageIds: [messageId], parts: [] }
  }
  if (data.messageId === undefined) return nothing
  const partId = data.partId ?? data.callId
  return {
    messageIds: [data.messageId],
    parts: partId === undefined ? [] : [{ messageId: data.messageId, partId }],
  }
}
