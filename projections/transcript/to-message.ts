import type { MessageData, MessageRow, PartRow } from './rows.ts'

/** A message as it is given out. */
export type Message = Omit<MessageData, 'partCount' | 'spent'> & {
  readonly messageId: string
  /** The session in which it was written. */
  readonly sessionId: string
  /** Its place. */
  readonly seq: number
  readonly type: MessageRow['type']
  readonly parts?: readonly MessagePart[]
  /** Cut off by a revert; only given with `include=hidden`. */
  readonly hidden?: true
}

export type MessagePart = {
  readonly type: PartRow['type']
  readonly partId: string
  /** Of an attempt that was retried; only given with `include=hidden`. */
  readonly superseded?: true
} & Omit<PartRow['data'], 'waitingFrom'>

/** The message with the parts that it shows, in the order in which they appeared. */
export const toMessage = (
  sessionId: string,
  row: MessageRow,
  parts: readonly PartRow[],
  options: { readonly includeHidden?: boolean; readonly hidden?: boolean } = {},
): Message => {
  const { partCount: _count, spent, ...data } = row.data
  const cost = data.cost === undefined && !spent ? undefined : (data.cost ?? 0) + (spent?.cost ?? 0)
  return {
    messageId: row.messageId,
    sessionId,
    seq: row.place ?? row.firstSeq,
    type: row.type,
    ...data,
    ...(cost !== undefined && { cost }),
    ...(row.type === 'assistant' && {
      parts: shownParts(row, parts, options.includeHidden ?? false).map((part) =>
        toPart(part, row),
      ),
    }),
    ...(options.hidden && { hidden: true as const }),
  }
}

/** In the order in which they appeared: those of the current attempt, or of all. */
export const shownParts = (
  row: MessageRow,
  parts: readonly PartRow[],
  includeHidden: boolean,
): readonly PartRow[] =>
  parts
    .filter((part) => includeHidden || part.attempt === (row.data.attempt ?? 1))
    .toSorted((a, b) => a.index - b.index)

const toPart = (part: PartRow, message: MessageRow): MessagePart => {
  const { waitingFrom: _, ...data } = part.data
  return {
    type: part.type,
    partId: part.partId,
    ...data,
    ...(part.attempt !== (message.data.attempt ?? 1) && { superseded: true as const }),
  }
}
