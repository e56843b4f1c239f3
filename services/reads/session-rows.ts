import { foldSessionInfo, sessionInfoTypes } from '../../projections/sessions/fold.ts'
import { sessionsVersion, type SessionInfo } from '../../projections/sessions/session-info.ts'
import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { Connection } from '../database/connection.ts'

/** A session's info as far as it is known, with the seq and the position of the last event in it. */
export type InfoRow = {
  readonly sid: number
  readonly seq: number
  readonly touched: number
  readonly info: SessionInfo | undefined
}

/** Kept infos of some sessions. */
export const readInfoRows = async (
  connection: Connection,
  sids: readonly number[],
): Promise<InfoRow[]> => {
  if (sids.length === 0) return []
  const rows = await connection.query<{ sid: number; seq: number; touched: number; data: string }>(
    `select sid, seq, touched, data::text as data from stemma.session_info
       where version = $1 and sid = any ($2::text::bigint[])`,
    [sessionsVersion, `{${sids.join(',')}}`],
  )
  return rows.map(({ data, ...row }) => ({ ...row, info: JSON.parse(data) as SessionInfo }))
}

export type InfoEvent = {
  sid: number
  seq: number
  position: number
  type: string
  occurred_at: string
  recorded_at: string
  data: string | null
}

/** `data` only of the types whose content is needed: the rest is not read from disk. */
export const columnsWithDataOf = (types: readonly EventType[]): string =>
  `e.sid, e.seq, e.position, e.type, e.occurred_at, e.recorded_at,
  case when e.type in (${types.map((type) => `'${type}'`).join(', ')}) then e.data::text end as data`

const infoEventColumns = columnsWithDataOf(sessionInfoTypes)

/** The event as folds take it: ids, versions and `meta` are of no concern to them. */
export const storedOf = (event: InfoEvent): StoredEvent =>
  ({
    seq: event.seq,
    eventId: '',
    type: event.type,
    version: 1,
    occurredAt: event.occurred_at,
    recordedAt: event.recorded_at,
    data: event.data === null ? {} : (JSON.parse(event.data) as unknown),
    meta: {},
  }) as unknown as StoredEvent

/** The info after one more event; events that are in it already change nothing. */
export const foldInfoEvent = (row: InfoRow, event: InfoEvent): InfoRow => {
  if (event.seq <= row.seq) return row
  return {
    sid: row.sid,
    seq: event.seq,
    touched: Math.max(row.touched, event.position),
    info: foldSessionInfo(row.info, storedOf(event)),
  }
}

/** The same, where an event that cannot be folded counts as one of an unknown type. */
const foldWhatCanBe = (row: InfoRow, event: InfoEvent): InfoRow => {
  try {
    return foldInfoEvent(row, event)
  } catch {
    return foldInfoEvent(row, { ...event, type: 'x.unreadable', data: null })
  }
}

/** The infos of some sessions with all their events folded in: never older than the snapshot. */
export const readCurrentInfos = async (
  connection: Connection,
  sids: readonly number[],
): Promise<Map<number, InfoRow>> => {
  const infos = new Map<number, InfoRow>(
    sids.map((sid) => [sid, { sid, seq: 0, touched: 0, info: undefined }]),
  )
  for (const row of await readInfoRows(connection, sids)) infos.set(row.sid, row)
  const rows = [...infos.values()]
  if (rows.length === 0) return infos
  const events = await connection.query<InfoEvent>(
    `select ${infoEventColumns}
       from unnest($1::text::bigint[], $2::text::bigint[]) u(sid, seq)
       join stemma.event e on e.sid = u.sid and e.seq > u.seq
       order by e.sid, e.seq`,
    [`{${rows.map((r) => r.sid).join(',')}}`, `{${rows.map((r) => r.seq).join(',')}}`],
  )
  for (const event of events) {
    infos.set(event.sid, foldWhatCanBe(infos.get(event.sid)!, event))
  }
  return infos
}
