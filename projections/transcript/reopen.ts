import type { Carried, CarriedMessage, CarriedPart } from './carried.ts'
import type { MessageRow, PartRow } from './rows.ts'
import type { Message, MessagePart } from './to-message.ts'

export type ReopenedMessage = { readonly row: MessageRow; readonly parts: readonly PartRow[] }

/**
 * The rows of a page's messages, for a fold to go on from: the inverse of `toMessage`, with what the
 * page carries beside them. Seqs that are not given out (of a row's first and last event, of a
 * part's beginning and end) are the page's own: no fold looks at them.
 */
export const reopen = (
  messages: readonly Message[],
  carried: Carried,
  asOfSeq: number,
): ReopenedMessage[] => {
  const more = new Map(carried.messages?.map((message) => [message.messageId, message]))
  return messages.map((message) => reopenMessage(message, more.get(message.messageId), asOfSeq))
}

const reopenMessage = (
  message: Message,
  carried: CarriedMessage | undefined,
  asOfSeq: number,
): ReopenedMessage => {
  const { messageId, sessionId: _, seq, type, parts = [], hidden: _hidden, ...shown } = message
  const { cost: _sum, ...rest } = shown
  const data = carried?.spent
    ? {
        ...rest,
        spent: carried.spent,
        ...(carried.cost !== undefined && { cost: carried.cost }),
      }
    : shown
  const more = new Map(carried?.parts?.map((part) => [part.index, part]))
  return {
    row: {
      messageId,
      place: seq,
      firstSeq: seq,
      lastSeq: asOfSeq,
      type,
      data: { ...data, ...(parts.length > 0 && { partCount: parts.length }) },
    },
    parts: parts.map((part, index) =>
      reopenPart(message, part, more.get(index) ?? { index }, asOfSeq),
    ),
  }
}

const reopenPart = (
  message: Message,
  part: MessagePart,
  { index, attempt = message.attempt ?? 1, waitingFrom, open }: CarriedPart,
  asOfSeq: number,
): PartRow => {
  const { type, partId, superseded: _, ...data } = part
  return {
    messageId: message.messageId,
    attempt,
    partId,
    index,
    startSeq: asOfSeq,
    endSeq: open || (type === 'tool' && data.status !== 'settled') ? null : asOfSeq,
    type,
    data: { ...data, ...(waitingFrom !== undefined && { waitingFrom }) },
  }
}
