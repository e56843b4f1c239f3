import type { Message } from '../transcript/to-message.ts'

/** What a compaction stands for is not read: this is its place in what is kept. */
export type Summary = { readonly place: number; readonly keptPlace?: number | undefined }

/**
 * The place from which messages stay beside a summary: that of the first one it says to keep, and in
 * any case all that came after it.
 */
export const keptFrom = ({ place, keptPlace }: Summary): number =>
  Math.min(keptPlace ?? place + 1, place + 1)

/** The summary first, then the messages; earlier compactions are summed up in the last one. */
export const summaryFirst = (
  summary: Message | undefined,
  messages: readonly Message[],
): readonly Message[] => [
  ...(summary ? [summary] : []),
  ...messages.filter(({ type }) => type !== 'compaction'),
]
