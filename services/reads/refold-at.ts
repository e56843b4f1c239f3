import { fold } from '../../projections/transcript/fold.ts'
import type { MessageRow } from '../../projections/transcript/rows.ts'
import { emptyView, type TranscriptView } from '../../projections/transcript/view.ts'
import type { Connection } from '../database/connection.ts'
import { readEvents, storedEvent } from '../log/read-events.ts'
import { chunkEvents } from './fold-tail.ts'

/**
 * Some messages as they were at a seq, for those that changed since: folded anew from the first
 * event of the earliest of them. What a message took from before that event (its turn) is its own
 * and never changes, so it is taken from the row.
 */
export const refoldAt = async (
  connection: Connection,
  sid: number,
  rows: readonly MessageRow[],
  atSeq: number,
): Promise<Pick<TranscriptView, 'messages' | 'parts'>> => {
  const view = emptyView()
  let seq = Math.min(...rows.map((row) => row.firstSeq)) - 1
  while (seq < atSeq) {
    const events = await readEvents(connection, sid, {
      afterSeq: seq,
      throughSeq: atSeq,
      limit: chunkEvents,
    })
    if (events.length === 0) break
    for (const event of events) fold(view, storedEvent(event))
    seq = events.at(-1)!.seq
  }
  const wanted = new Map(rows.map((row) => [row.messageId, row]))
  const messages = new Map<string, MessageRow>()
  for (const [messageId, row] of wanted) {
    const then = view.messages.get(messageId)
    if (!then) continue
    const { turnId } = row.data
    messages.set(messageId, {
      ...then,
      data: { ...then.data, ...(turnId !== undefined && then.place !== null && { turnId }) },
    })
  }
  const parts = new Map([...view.parts].filter(([, part]) => wanted.has(part.messageId)))
  return { messages, parts }
}
