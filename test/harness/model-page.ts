import type { TranscriptPage } from '../../client/transcript-page.ts'
import { carriedOf } from '../../projections/transcript/carried.ts'
import { fold } from '../../projections/transcript/fold.ts'
import { isShown, shownPlaces } from '../../projections/transcript/shown-places.ts'
import { toMessage } from '../../projections/transcript/to-message.ts'
import { emptyView } from '../../projections/transcript/view.ts'
import type { Envelope, StoredEvent } from '../../schema/events/envelope.ts'

export type ModelPageOptions = {
  /** How many messages, counted from the end; all by default. */
  readonly last?: number
  readonly includeHidden?: boolean
  /** Messages placed above it, and all that are not. */
  readonly before?: number
}

/** The page that a server would give of these events, all of one session, through JSON. */
export const modelPage = (
  events: readonly Envelope[],
  { last = Infinity, includeHidden = false, before = Infinity }: ModelPageOptions = {},
): TranscriptPage => {
  const view = emptyView()
  for (const event of events) fold(view, event as StoredEvent)
  const asOfSeq = events.length
  const shown = shownPlaces(view.progress, 'ses_1', asOfSeq)
  const rows = [...view.messages.values()]
    .filter((row) => row.place !== null && row.place < before)
    .filter((row) => includeHidden || isShown(shown, row))
    .toSorted((a, b) => a.place! - b.place!)
    .map((row) => ({
      row,
      parts: [...view.parts.values()].filter((part) => part.messageId === row.messageId),
    }))
    .slice(-Math.min(last, view.messages.size))
  const cancelled = new Set(
    events.flatMap(({ type, data }) =>
      type === 'input.cancelled' ? [(data as { messageId: string }).messageId] : [],
    ),
  )
  const waiting = [...view.messages.values()].filter(
    ({ place, messageId }) => place === null && !cancelled.has(messageId),
  )
  const end = before === Infinity ? { progress: view.progress, waiting } : undefined
  const page: TranscriptPage = {
    data: rows.map(({ row, parts }) =>
      toMessage('ses_1', row, parts, { includeHidden, hidden: !isShown(shown, row) }),
    ),
    asOfSeq,
    fold: carriedOf(rows, includeHidden, end),
  }
  return JSON.parse(JSON.stringify(page)) as TranscriptPage
}
