import fc from 'fast-check'
import t from 'tap'
import { listTypes } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { playLists } from '../../test/harness/random-lists.ts'
import { playSessions } from '../../test/harness/transcripts.ts'
import { randomImport } from '../../test/harness/random-import.ts'
import { seeded } from '../../test/harness/seeded.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { openLog } from '../log/open-log.ts'
import type { SessionState } from '../log/session-state.ts'
import { columnsWithDataOf, storedOf, type InfoEvent } from '../reads/session-rows.ts'
import { projectSessions } from './project-sessions.ts'
import { writeLists } from './write-lists.ts'

const tables = ['turn', 'request', 'waiting'] as const

/** All rows as JSON texts, in one order. */
const rowsOf = (pool: Pool): Promise<Record<string, string[]>> =>
  pool.use(async (connection) => {
    const found: Record<string, string[]> = {}
    for (const table of [...tables, 'session_info']) {
      const rows = await connection.query<{ row: string }>(
        `select row_to_json(r)::text as row from stemma.${table} r where version = $1 order by 1`,
        [sessionsVersion],
      )
      found[table] = rows.map(({ row }) => row)
    }
    return found
  })

const clear = (pool: Pool): Promise<unknown> =>
  pool.use((connection) =>
    connection.query(`with t as (delete from stemma.turn), r as (delete from stemma.request),
        w as (delete from stemma.waiting), i as (delete from stemma.session_info)
      update stemma.sessions_checkpoint set position = 0`),
  )

/** The lists of the whole log, folded at once and in memory up to the write. */
const foldWhole = (pool: Pool): Promise<void> =>
  runTransaction(pool, {}, async (connection) => {
    const events = await connection.query<InfoEvent & { tenant: number }>(
      `select e.tenant, ${columnsWithDataOf(listTypes)} from stemma.event e
         where e.type = any (string_to_array($1, ' ')) order by e.position`,
      [listTypes.join(' ')],
    )
    const placed = events.map((e) => ({
      ...storedOf(e),
      sid: e.sid,
      tenant: e.tenant,
      position: e.position,
    }))
    await writeLists(connection, placed)
  })

/** What is open by the rows, and by the sessions' states. */
const openOf = async (pool: Pool) => {
  const rows = await pool.use((connection) =>
    connection.query<{ sid: number; what: string }>(
      `select sid, format('turn %s %s %s %s %s', turn_id, owner_id, fence, released,
           interrupt_seq) as what from stemma.turn where version = $1 and ended_seq is null
         union all select sid, format('request %s %s', request_id,
           to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
           from stemma.request where version = $1 and status = 'open'
         union all select sid, kind || ' ' || id from stemma.waiting where version = $1`,
      [sessionsVersion],
    ),
  )
  const states = await pool.use((connection) =>
    connection.query<{ sid: number; state: string }>('select sid, state from stemma.session'),
  )
  const open = states.flatMap(({ sid, state }) => {
    const { turn, requests, inputs, answers } = JSON.parse(state) as SessionState
    return [
      ...(turn
        ? [
            `turn ${turn.turnId} ${turn.ownerId} ${turn.fence} ${turn.released ? 't' : 'f'} ${turn.interrupt?.seq ?? ''}`,
          ]
        : []),
      ...Object.entries(requests ?? {}).map(([id, r]) => `request ${id} ${r.expiresAt ?? ''}`),
      ...Object.keys(inputs ?? {}).map((id) => `input ${id}`),
      ...Object.keys(answers ?? {}).map((id) => `answer ${id}`),
    ].map((what) => `${sid} ${what}`)
  })
  return {
    rows: rows.map(({ sid, what }) => `${sid} ${what}`).toSorted(),
    states: open.toSorted(),
  }
}

t.test(
  'whatever owners and people do and whenever it is projected, the lists are what the log alone gives, and what is open in them is what is open in the sessions',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    let run = 0
    let acts = 0
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 31 - 1 }), async (seed) => {
        run += 1
        const random = seeded(seed)
        acts += await playLists(log, [`ses_${run}_a`, `ses_${run}_b`], {
          random,
          acts: 60,
          between: async () => random() < 0.2 && (await projectSessions(pool)),
        })
        while (await projectSessions(pool));
        const open = await openOf(pool)
        if (open.rows.join('\n') !== open.states.join('\n')) throw new Error(JSON.stringify(open))
      }),
      { numRuns: 12, endOnFailure: true },
    )
    t.ok(acts > 200, `${acts} acts were taken`)
    const kept = await rowsOf(pool)
    for (const table of tables) t.ok(kept[table]!.length > 5, `${kept[table]!.length} of ${table}`)
    await clear(pool)
    await foldWhole(pool)
    const whole = await rowsOf(pool)
    for (const table of tables) t.same(whole[table], kept[table], table)
    // Rebuilt by the projector, from the first event.
    await clear(pool)
    while (await projectSessions(pool));
    t.same(await rowsOf(pool), kept)
    await log[Symbol.asyncDispose]()
  },
)

t.test('imported sessions and those of hosts are listed as their states say', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await playSessions(pool, { count: 3, turns: 4 })
  const log = openLog({ pool, report: () => {} })
  for (let seed = 1; seed <= 3; seed += 1) {
    const sessionId = `ses_imported_${seed}`
    for (const act of randomImport(seeded(seed), 4)) {
      await log.execute({ tenant: 1, sessionId, ...act })
      if (seed > 1) await projectSessions(pool)
    }
  }
  while (await projectSessions(pool));
  const open = await openOf(pool)
  t.same(open.rows, open.states)
  await log[Symbol.asyncDispose]()
})
