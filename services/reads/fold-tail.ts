import { fold } from '../../projections/transcript/fold.ts'
import { partKey } from '../../projections/transcript/rows.ts'
import { touches, type Touched } from '../../projections/transcript/touches.ts'
import { emptyView, type TranscriptView } from '../../projections/transcript/view.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { Connection } from '../database/connection.ts'
import { readEvents, storedEvent } from '../log/read-events.ts'
import { readMessageRows, readPartRows, type Kept, type ProgressRow } from './transcript-rows.ts'

/** Events that are read and folded at once. */
export const chunkEvents = 500

export type Tail = {
  readonly view: TranscriptView
  /** The last seq that the view holds. */
  readonly seq: number
  /** Where the fold failed, if it did: the view ends before. */
  readonly stalled?: { readonly seq: number; readonly code: string }
  readonly events: number
}

/**
 * Folds the events that the kept rows lack, `progress.seq` < seq <= `throughSeq`, on top of the rows
 * that they touch. Nothing is written. Run it in one snapshot with what else is read of the session.
 */
export const foldTail = async (
  connection: Connection,
  sid: number,
  from: ProgressRow,
  throughSeq: number,
): Promise<Tail> => {
  const view = emptyView(from.progress)
  let seq = from.seq
  let count = 0
  while (seq < throughSeq) {
    const rows = await readEvents(connection, sid, {
      afterSeq: seq,
      throughSeq,
      limit: chunkEvents,
    })
    if (rows.length === 0) break
    const events = rows.map(storedEvent)
    // Rows are written with their progress: where there is none, there are none.
    if (from.seq > 0) await loadTouched(connection, { ...from, sid }, view, events)
    for (const event of events) {
      try {
        fold(view, event)
      } catch (error) {
        const code = error instanceof Error ? error.name : 'unknown'
        return { view, seq, stalled: { seq: event.seq, code }, events: count }
      }
      seq = event.seq
      count += 1
    }
  }
  return { view, seq, events: count }
}

/** Loads the rows that the events may change and that the view does not have. */
export const loadTouched = async (
  connection: Connection,
  kept: Kept,
  view: TranscriptView,
  events: readonly StoredEvent[],
): Promise<void> => {
  const messageIds = new Set<string>()
  const parts = new Map<string, { messageId: string; partId: string }>()
  for (const event of events) {
    const touched = touchesOf(event, view)
    if (!touched) break
    for (const id of touched.messageIds) if (!view.messages.has(id)) messageIds.add(id)
    for (const part of touched.parts) parts.set(partKey(part.messageId, 0, part.partId), part)
  }
  for (const row of await readMessageRows(connection, kept, [...messageIds])) {
    view.messages.set(row.messageId, row)
  }
  for (const row of await readPartRows(connection, kept, [...parts.values()])) {
    const key = partKey(row.messageId, row.attempt, row.partId)
    if (!view.parts.has(key)) view.parts.set(key, row)
  }
}

/** Undefined for an event that cannot be read: the fold will say so, and go no further. */
const touchesOf = (event: StoredEvent, view: TranscriptView): Touched | undefined => {
  try {
    return touches(event, view.progress)
  } catch {
    return undefined
  }
}
