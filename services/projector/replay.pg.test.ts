import fc from 'fast-check'
import t from 'tap'
import { eventTable, type EventType } from '../../schema/events/event-table.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { sampleSchema } from '../../test/harness/sample-schema.ts'
import { seeded } from '../../test/harness/seeded.ts'
import { numberList, textList } from '../database/lists.ts'
import type { Pool } from '../database/pool.ts'
import { projectTranscript } from './project-transcript.ts'
import { compareRows } from './rebuild/compare-rows.ts'

const types = Object.keys(eventTable) as EventType[]
const ids = ['a', 'b', '__proto__']
/** What changes rows that others brought: it comes more often, or it would find none. */
const changing = types.filter((type) => /^(step|text|tool|request|compaction)\./.test(type))

/** Events of every type, that refer to each other as chance has it: no rule has looked at them. */
const randomEvents = (seed: number, count: number) => {
  const random = seeded(seed)
  return Array.from({ length: count }, () => {
    const stock = random() < 0.75 ? changing : types
    const type = stock[Math.floor(random() * stock.length)]!
    const data = sampleSchema(eventTable[type].data, random, ids)
    return { type, data, meta: random() < 0.1 ? { importClosing: true } : {} }
  })
}

const store = (
  pool: Pool,
  sid: number,
  events: ReturnType<typeof randomEvents>,
): Promise<unknown> =>
  pool.use(async (connection) => {
    await connection.query(
      `insert into stemma.session (sid, tenant, session_id, head, state, state_version, created_at)
         overriding system value values ($1::bigint, 1, 'ses_' || ($1::bigint)::text, $2, '{}', 1, now())`,
      [sid, events.length],
    )
    await connection.query(
      `insert into stemma.event
         select $1::bigint, u.seq, 1, nextval('stemma.position'), 'evt_' || u.seq, u.type, 1, u.data::json,
             u.meta::json, now(), now()
           from unnest($2::text::bigint[], string_to_array($3, chr(30)),
             string_to_array($4, chr(30)), string_to_array($5, chr(30))) u(seq, type, data, meta)`,
      [
        sid,
        numberList(events.map((_, n) => n + 1)),
        textList(events.map(({ type }) => type)),
        textList(events.map(({ data }) => JSON.stringify(data))),
        textList(events.map(({ meta }) => JSON.stringify(meta))),
      ],
    )
  })

t.test(
  'replay equals live: whatever the events and wherever the chunks are cut, the rows are the same',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    await pool.use((connection) =>
      connection.query(
        `insert into stemma.projection_generation values ('transcript', 2, 1, 'filling')`,
      ),
    )
    let sid = 0
    let rows = 0
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 }),
        async (seed, chunks) => {
          sid += 1
          const events = randomEvents(seed, 80)
          await store(pool, sid, events)
          // Live: in chunks as they come; what touches a row finds it in the table.
          for (let seq = 0, n = 0, done = false; !done; n += 1) {
            const throughSeq = seq + chunks[n % chunks.length]!
            const projected = await projectTranscript(pool, sid, { generation: 1, throughSeq })
            done = projected.stalled !== undefined || projected.seq === events.length
            seq = projected.seq
          }
          // Replayed: at once, in memory.
          await projectTranscript(pool, sid, { generation: 2 })
          const rebuild = { name: 'transcript', generation: 2, replaces: 1 } as const
          const session = { sid, sessionId: `ses_${sid}` }
          const differences = await pool.use((connection) =>
            compareRows(connection, rebuild, session),
          )
          if (differences.length > 0) throw new Error(JSON.stringify(differences))
        },
      ),
      { numRuns: 40 },
    )
    const counts = await pool.use((connection) =>
      connection.query<{ rows: number }>(
        `select count(*) as rows from stemma.transcript_part where version = 2
         union all select count(*) from stemma.transcript_message where version = 2`,
      ),
    )
    for (const count of counts) rows += count.rows
    t.ok(rows > 300 && counts.every((count) => count.rows > 50), `${rows} rows were compared`)
  },
)
