import { keptFrom, summaryFirst } from '../../projections/context/from-summary.ts'
import { toContext, type ContextOptions } from '../../projections/context/to-context.ts'
import { isShown, shownPlaces } from '../../projections/transcript/shown-places.ts'
import { toMessage } from '../../projections/transcript/to-message.ts'
import type { TranscriptView } from '../../projections/transcript/view.ts'
import type { Context } from '../../schema/http/context.ts'

/** The context of a session, from a fold of all its events up to a seq. */
export const contextOf = (
  view: TranscriptView,
  asOfSeq: number,
  options: ContextOptions = {},
): Context => {
  const shown = shownPlaces(view.progress, 'ses_1', asOfSeq)
  const parts = Map.groupBy(view.parts.values(), ({ messageId }) => messageId)
  const messages = [...view.messages.values()]
    .filter((row) => isShown(shown, row))
    .toSorted((a, b) => a.place! - b.place!)
    .map((row) => toMessage('ses_1', row, parts.get(row.messageId) ?? [], { includeHidden: true }))
  const summary = messages.findLast(
    ({ type, status }) => type === 'compaction' && status === 'completed',
  )
  const kept = summary?.keepFromMessageId
  const from = summary
    ? keptFrom({
        place: summary.seq,
        keptPlace: kept === undefined ? undefined : (view.messages.get(kept)?.place ?? undefined),
      })
    : 0
  return toContext(
    summaryFirst(
      summary,
      messages.filter(({ seq }) => seq >= from),
    ),
    options,
  )
}
