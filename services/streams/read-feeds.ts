import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import { envelopeText, eventRow, type StoredRow } from '../log/read-events.ts'

/** An event on its way to who follows: `text` is its envelope. */
export type FeedEvent = { readonly seq: number; readonly type: string; readonly text: string }

export type Wanted = {
  readonly sid: number
  readonly sessionId: string
  readonly afterSeq: number
}

export const pageEvents = 200
/**
 * A page holds one event at least, however large. What is stored compressed is counted first as it
 * is stored, so that not all of it is unpacked to be counted.
 */
const pageBytes = 256 * 1024

/** A page of each of several sessions, in one statement: short where the events are large. */
export const readFeeds = async (
  connection: Connection,
  wanted: readonly Wanted[],
): Promise<FeedEvent[][]> => {
  const rows = await connection.query<StoredRow & { o: number }>(readSql, [
    numberList(wanted.map(({ sid }) => sid)),
    numberList(wanted.map(({ afterSeq }) => afterSeq)),
  ])
  const pages: FeedEvent[][] = wanted.map(() => [])
  for (const row of rows) {
    const text = envelopeText(wanted[row.o - 1]!.sessionId, eventRow(row))
    pages[row.o - 1]!.push({ seq: row.seq, type: row.type, text })
  }
  return pages
}

const readSql = `select u.o, e.seq, e.position, e.event_id, e.type, e.version, e.occurred_at,
    e.recorded_at, e.data::text as data, e.meta::text as meta
  from unnest($1::text::bigint[], $2::text::bigint[]) with ordinality u(sid, after, o)
  cross join lateral (
    select x.* from (
      select w.*, sum(octet_length(w.data::text)) over (order by w.seq)
          - octet_length(w.data::text) as text_before
        from (
          select l.*, sum(pg_column_size(l.data)) over (order by l.seq)
              - pg_column_size(l.data) as before
            from (select * from stemma.event v where v.sid = u.sid and v.seq > u.after
              order by v.seq limit ${pageEvents}) l) w
        where w.before < ${pageBytes}) x
      where x.text_before < ${pageBytes}) e
  order by u.o, e.seq`
