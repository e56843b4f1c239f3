import postgres from 'postgres'
import type { NewEvent } from '../schema/events/envelope.ts'
import { newId } from '../services/log/new-id.ts'
import type { Log } from '../services/log/open-log.ts'

/** One way to append. `round` makes sessions of its own; gives how many events a second went in. */
export type Contender = {
  readonly name: string
  readonly round: (options: { readonly milliseconds: number }) => Promise<number>
}

/** 600 bytes as JSON. */
const payload = { title: 'x'.repeat(588) }
const payloadText = JSON.stringify(payload)

const timed = async (
  writers: number,
  milliseconds: number,
  write: (writer: number) => () => Promise<number>,
): Promise<number> => {
  const begins = performance.now()
  const ends = begins + milliseconds
  const counts = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const once = write(writer)
      let events = 0
      while (performance.now() < ends) events += await once()
      return events
    }),
  )
  return counts.reduce((sum, n) => sum + n, 0) / ((performance.now() - begins) / 1000)
}

/** What Stemma's log does: through its rules, names, state and group commit. */
export const stemma = (
  log: Log,
  shape: { readonly writers: number; readonly sessions: number; readonly batch: number },
): Contender => ({
  name: `stemma, ${shape.sessions} sessions, ${shape.writers} writers, batches of ${shape.batch}`,
  round: async ({ milliseconds }) => {
    const prefix = newId('ses')
    for (let n = 0; n < shape.sessions; n += 1) {
      const event: NewEvent = {
        eventId: newId('evt'),
        type: 'session.created',
        version: 1,
        data: {},
        meta: {},
      }
      await log.execute({ tenant: 1, sessionId: `${prefix}_${n}`, kind: 'create', event })
    }
    return timed(shape.writers, milliseconds, (writer) => async () => {
      const events = Array.from({ length: shape.batch }, (): NewEvent => ({
        eventId: newId('evt'),
        type: 'session.renamed',
        version: 1,
        data: payload,
        meta: {},
      }))
      const sessionId = `${prefix}_${writer % shape.sessions}`
      await log.execute({ tenant: 1, sessionId, kind: 'append', events })
      return shape.batch
    })
  },
})

/** The floor: raw INSERTs through Postgres.js into a table with all the indexes of `event`. */
export const openFloor = async (url: string) => {
  const sql = postgres(url, { max: 64, fetch_types: false, onnotice: () => {} })
  await sql.unsafe(`create table if not exists floor (
    sid bigint not null, seq bigint not null, tenant int not null, position bigserial,
    event_id text collate "C" not null, type text collate "C" not null, version int not null,
    data json not null, meta json not null, occurred_at timestamptz not null default now(),
    recorded_at timestamptz not null default now(), primary key (sid, seq), unique (sid, event_id));
    create unique index if not exists floor_position on floor (position);
    create index if not exists floor_tenant on floor (tenant, position)`)
  let sids = 0
  const contender = (shape: { readonly writers: number; readonly batch: number }): Contender => ({
    name: `raw INSERT, ${shape.writers} writers, ${shape.batch} rows each`,
    round: ({ milliseconds }) =>
      timed(shape.writers, milliseconds, () => {
        const sid = (sids += 1)
        let seq = 0
        return async () => {
          if (shape.batch === 1) {
            await sql`insert into floor (sid, seq, tenant, event_id, type, version, data, meta)
              values (${sid}, ${(seq += 1)}, 1, ${newId('evt')}, 'session.renamed', 1,
                ${payloadText}::text::json, '{}')`
          } else {
            const first = seq + 1
            seq += shape.batch
            const ids = Array.from({ length: shape.batch }, () => newId('evt')).join(' ')
            await sql`insert into floor (sid, seq, tenant, event_id, type, version, data, meta)
              select ${sid}::int, ${first}::int + o, 1, id, 'session.renamed', 1,
                ${payloadText}::text::json, '{}'
                from unnest(string_to_array(${ids}, ' ')) with ordinality u(id, o)`
          }
          return shape.batch
        }
      }),
  })
  return { contender, [Symbol.asyncDispose]: () => sql.end() }
}
