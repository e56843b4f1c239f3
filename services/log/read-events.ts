import type { EventMeta, StoredEvent } from '../../schema/events/envelope.ts'
import type { Connection } from '../database/connection.ts'

/** An event as it lies in the log; `data` and `meta` are JSON text. */
export type EventRow = {
  readonly seq: number
  readonly position: number
  readonly eventId: string
  readonly type: string
  readonly version: number
  readonly occurredAt: string
  readonly recordedAt: string
  readonly data: string
  readonly meta: string
}

/** Events of one session with `afterSeq` < seq <= `throughSeq`, in order, at most `limit`. */
export const readEvents = async (
  connection: Connection,
  sid: number,
  range: { readonly afterSeq: number; readonly throughSeq?: number; readonly limit: number },
): Promise<EventRow[]> => {
  const rows = await connection.query<StoredRow>(readSql, [
    sid,
    range.afterSeq,
    range.throughSeq ?? Number.MAX_SAFE_INTEGER,
    range.limit,
  ])
  return rows.map(eventRow)
}

const readSql = `select seq, position, event_id, type, version, occurred_at, recorded_at,
    data::text as data, meta::text as meta
  from stemma.event where sid = $1 and seq > $2 and seq <= $3 order by seq limit $4`

export type StoredRow = {
  seq: number
  position: number
  event_id: string
  type: string
  version: number
  occurred_at: string
  recorded_at: string
  data: string
  meta: string
}

export const eventRow = (row: StoredRow): EventRow => ({
  seq: row.seq,
  position: row.position,
  eventId: row.event_id,
  type: row.type,
  version: row.version,
  occurredAt: row.occurred_at,
  recordedAt: row.recorded_at,
  data: row.data,
  meta: row.meta,
})

/** The event as folds take it. */
export const storedEvent = (row: EventRow): StoredEvent =>
  ({
    seq: row.seq,
    eventId: row.eventId,
    type: row.type,
    version: row.version,
    occurredAt: row.occurredAt,
    recordedAt: row.recordedAt,
    data: JSON.parse(row.data) as unknown,
    meta: JSON.parse(row.meta) as EventMeta,
  }) as StoredEvent

/** The event's envelope as JSON text; what was stored is spliced in as it lies, never parsed again. */
export const envelopeText = (sessionId: string, row: EventRow): string =>
  `{"sessionId":"${sessionId}","seq":${row.seq},"eventId":"${row.eventId}","type":"${row.type}"` +
  `,"version":${row.version},"occurredAt":"${row.occurredAt}","recordedAt":"${row.recordedAt}"` +
  `,"data":${row.data},"meta":${row.meta}}`
