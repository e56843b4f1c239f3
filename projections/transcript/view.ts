import { partKey, type MessageRow, type PartRow, type TranscriptProgress } from './rows.ts'

/**
 * The rows that some events may change, loaded before, and changed by the fold. A view belongs to
 * one fold at a time; `changed…` name what must be written.
 */
export type TranscriptView = {
  progress: TranscriptProgress
  readonly messages: Map<string, MessageRow>
  readonly parts: Map<string, PartRow>
  readonly changedMessages: Set<string>
  readonly changedParts: Set<string>
}

export const emptyView = (progress: TranscriptProgress = {}): TranscriptView => ({
  progress,
  messages: new Map(),
  parts: new Map(),
  changedMessages: new Set(),
  changedParts: new Set(),
})

export const putMessage = (view: TranscriptView, row: MessageRow): void => {
  view.messages.set(row.messageId, row)
  view.changedMessages.add(row.messageId)
}

export const putPart = (view: TranscriptView, row: PartRow): void => {
  const key = partKey(row.messageId, row.attempt, row.partId)
  view.parts.set(key, row)
  view.changedParts.add(key)
}
