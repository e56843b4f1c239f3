import {
  transcriptFold,
  type MessageData,
  type MessageRow,
  type PartRow,
  type ToolStatus,
  type TranscriptProgress,
} from './rows.ts'
import { shownParts } from './to-message.ts'

/**
 * What a page carries beside its messages, so that a reader's fold goes on from it exactly as the
 * server's would: of the rows only what is not given out, and only where there is any.
 */
export type Carried = {
  /** `transcriptFold`: another fold gives other rows. */
  readonly version: number
  readonly includeHidden?: true
  readonly messages?: readonly CarriedMessage[]
  /** Only with the page that reaches the transcript's end: events go on from there. */
  readonly end?: {
    /** Without the cuts: what comes after the newest is shown. */
    readonly progress: Omit<TranscriptProgress, 'cuts'>
    /** Prompts that wait: they have no place yet. */
    readonly waiting: readonly MessageRow[]
  }
}

export type CarriedMessage = {
  readonly messageId: string
  /** Of the current attempt alone; the message gives the sum. */
  readonly cost?: number
  readonly spent?: MessageData['spent']
  readonly parts?: readonly CarriedPart[]
}

export type CarriedPart = {
  /** Which of the parts that the message gives out, from 0. */
  readonly index: number
  readonly attempt?: number
  readonly waitingFrom?: ToolStatus
  /** A text that has begun and not ended. */
  readonly open?: true
}

export type RowWithParts = { readonly row: MessageRow; readonly parts: readonly PartRow[] }

/** What `reopen` needs beside the messages that `toMessage` makes of these rows. */
export const carriedOf = (
  rows: readonly RowWithParts[],
  includeHidden: boolean,
  end?: { readonly progress: TranscriptProgress; readonly waiting: readonly MessageRow[] },
): Carried => {
  const messages = rows.flatMap(({ row, parts }) => carriedMessage(row, parts, includeHidden))
  return {
    version: transcriptFold,
    ...(includeHidden && { includeHidden }),
    ...(messages.length > 0 && { messages }),
    ...(end && { end: { progress: withoutCuts(end.progress), waiting: end.waiting } }),
  }
}

const withoutCuts = (progress: TranscriptProgress): Omit<TranscriptProgress, 'cuts'> => {
  const { cuts: _, ...rest } = progress
  return rest
}

const carriedMessage = (
  row: MessageRow,
  all: readonly PartRow[],
  includeHidden: boolean,
): CarriedMessage[] => {
  const { attempt: current = 1, cost, spent } = row.data
  const parts = shownParts(row, all, includeHidden).flatMap((part, index) => {
    const { attempt, type, endSeq, data } = part
    const more = {
      ...(attempt !== current && { attempt }),
      ...(data.waitingFrom !== undefined && { waitingFrom: data.waitingFrom }),
      ...(type !== 'tool' && endSeq === null && { open: true as const }),
    }
    return Object.keys(more).length > 0 ? [{ index, ...more }] : []
  })
  if (!spent && parts.length === 0) return []
  return [
    {
      messageId: row.messageId,
      ...(spent && { spent, ...(cost !== undefined && { cost }) }),
      ...(parts.length > 0 && { parts }),
    },
  ]
}
