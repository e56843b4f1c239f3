import type { ReopenedMessage } from '../projections/transcript/reopen.ts'
import { partKey, type PartRow } from '../projections/transcript/rows.ts'
import { toMessage, type Message } from '../projections/transcript/to-message.ts'
import type { TranscriptView } from '../projections/transcript/view.ts'

/** The messages as they are given out, kept beside the rows that they come from. */
export type ShownMessages = {
  readonly view: TranscriptView
  readonly includeHidden: boolean
  /** In the order of their places. */
  byId: Map<string, Message>
  /** The view's parts by message. */
  readonly parts: Map<string, Map<string, PartRow>>
}

/** Puts rows into the view, to be folded from now on. */
export const loadRows = (shown: ShownMessages, loaded: readonly ReopenedMessage[]): void => {
  for (const { row, parts } of loaded) {
    shown.view.messages.set(row.messageId, row)
    for (const part of parts) {
      shown.view.parts.set(partKey(part.messageId, part.attempt, part.partId), part)
      addPart(shown, part)
    }
  }
}

/** Gives out again what the fold has changed; says which messages. */
export const showChanged = (shown: ShownMessages, sessionId: string): readonly string[] => {
  const { view, byId, includeHidden } = shown
  for (const key of view.changedParts) addPart(shown, view.parts.get(key)!)
  const changed: string[] = []
  for (const messageId of view.changedMessages) {
    const row = view.messages.get(messageId)!
    if (row.place === null) continue
    const before = byId.get(messageId)
    // A new message stands last, for its place is its event's seq.
    byId.set(
      messageId,
      toMessage(
        before?.sessionId ?? sessionId,
        row,
        [...(shown.parts.get(messageId)?.values() ?? [])],
        { includeHidden, hidden: before?.hidden ?? false },
      ),
    )
    changed.push(messageId)
  }
  view.changedMessages.clear()
  view.changedParts.clear()
  return changed
}

const addPart = ({ parts }: ShownMessages, part: PartRow): void => {
  const key = partKey(part.messageId, part.attempt, part.partId)
  const ofMessage = parts.get(part.messageId)
  if (ofMessage) ofMessage.set(key, part)
  else parts.set(part.messageId, new Map([[key, part]]))
}
