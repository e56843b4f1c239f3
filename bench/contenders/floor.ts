import postgres from 'postgres'
import { newId } from '../../services/log/new-id.ts'
import type { Contender } from '../bench.ts'
import { payloadText } from '../payload.ts'
import { timed } from '../timed.ts'

/** Raw INSERTs through Postgres.js into a table with all the indexes of `event`. */
export type Floor = AsyncDisposable & {
  /** One row of `sid` at `seq`. */
  readonly insert: (sid: number, seq: number) => Promise<unknown>
  readonly contender: (shape: { readonly writers: number; readonly batch: number }) => Contender
}

export const openFloor = async (url: string): Promise<Floor> => {
  const sql = postgres(url, { max: 64, fetch_types: false, onnotice: () => {} })
  await sql.unsafe(`create table if not exists floor (
    sid bigint not null, seq bigint not null, tenant int not null, position bigserial,
    event_id text collate "C" not null, type text collate "C" not null, version int not null,
    data json not null, meta json not null, occurred_at timestamptz not null default now(),
    recorded_at timestamptz not null default now(), primary key (sid, seq), unique (sid, event_id));
    create unique index if not exists floor_position on floor (position);
    create index if not exists floor_tenant on floor (tenant, position)`)

  const insert: Floor['insert'] = (sid, seq) =>
    sql`insert into floor (sid, seq, tenant, event_id, type, version, data, meta)
      values (${sid}, ${seq}, 1, ${newId('evt')}, 'session.renamed', 1,
        ${payloadText}::text::json, '{}')`

  const insertMany = (sid: number, first: number, count: number): Promise<unknown> => {
    const ids = Array.from({ length: count }, () => newId('evt')).join(' ')
    return sql`insert into floor (sid, seq, tenant, event_id, type, version, data, meta)
      select ${sid}::int, ${first}::int + o - 1, 1, id, 'session.renamed', 1,
        ${payloadText}::text::json, '{}'
        from unnest(string_to_array(${ids}, ' ')) with ordinality u(id, o)`
  }

  let sids = 0
  return {
    insert,
    contender: ({ writers, batch }) => ({
      name: 'floor',
      round: (milliseconds) =>
        timed(writers, milliseconds, () => {
          const sid = (sids += 1)
          let seq = 0
          return async () => {
            const first = seq + 1
            seq += batch
            await (batch === 1 ? insert(sid, first) : insertMany(sid, first, batch))
            return batch
          }
        }),
    }),
    [Symbol.asyncDispose]: () => sql.end(),
  }
}
