import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endpointOf, openCutProxy, type CutRule } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { randomSession } from '../../test/harness/random-session.ts'
import { seeded } from '../../test/harness/seeded.ts'
import type { Pool } from '../database/pool.ts'
import { openPool } from '../database/pool.ts'
import { openLog } from '../log/open-log.ts'
import { readMessages } from '../reads/read-messages.ts'
import { projectSessions } from './project-sessions.ts'
import { projectTranscript } from './project-transcript.ts'
import { startProjector } from './start-projector.ts'

const uncaught: unknown[] = []
process.on('uncaughtException', (error) => uncaught.push(error))
process.on('unhandledRejection', (error) => uncaught.push(error))

const tablesOf = (pool: Pool) =>
  Promise.all(
    [
      'select seq, state::text as state from stemma.transcript_progress order by sid',
      'select sid, message_id, place, first_seq, last_seq, type, data::text as data from stemma.transcript_message order by 1, 2',
      'select sid, message_id, attempt, part_id, index, start_seq, end_seq, data::text as data from stemma.transcript_part order by 1, 2, 3, 4',
    ].map((sql) => pool.use((connection) => connection.query(sql))),
  )

const play = async (pool: Pool, sessionId: string, seed: number, turns: number): Promise<void> => {
  const log = openLog({ pool, report: () => {} })
  for (const act of randomSession(seeded(seed), turns).acts) {
    await log.execute({ tenant: 1, sessionId, ...act })
  }
  await log[Symbol.asyncDispose]()
}

const statements: readonly RegExp[] = [
  /^begin/,
  /insert into stemma\.transcript_progress/,
  /for update of p skip locked/,
  /from stemma\.event/,
  /insert into stemma\.transcript_message/,
  /insert into stemma\.transcript_part/,
  /update stemma\.transcript_progress/,
  /^commit/,
]

t.test(
  'the line is cut at every point of the projector: it writes the same rows as if nothing had happened',
  async (t) => {
    await using database = await openTestDatabase()
    await play(database.pool, 'ses_1', 5, 8)
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    await using pool = openPool({
      url: proxy.url(database.url),
      max: 3,
      applicationName: 'stemma-cut',
    })
    await projectTranscript(pool, 1)
    const expected = await tablesOf(database.pool)
    t.ok(
      (expected[1]?.length ?? 0) > 10 && (expected[2]?.length ?? 0) > 5,
      'there is something to write',
    )
    for (const matching of statements) {
      for (const at of ['before the request', 'after the request', 'inside the reply'] as const) {
        await database.pool.use((connection) =>
          connection.query(`with a as (delete from stemma.transcript_progress), b as (delete from stemma.transcript_message)
          delete from stemma.transcript_part`),
        )
        const rule: CutRule = { at, matching }
        void proxy.cut(rule)
        for (let tries = 0, done = false; !done && tries < 20; tries += 1) {
          done = await projectTranscript(pool, 1).then(
            (result) => result.done,
            () => false,
          )
        }
        t.same(await tablesOf(database.pool), expected, `${at}: ${matching.source}`)
      }
    }
  },
)

t.test('two projectors at once write each row as one would', async (t) => {
  await using database = await openTestDatabase()
  await play(database.pool, 'ses_1', 9, 10)
  await projectTranscript(database.pool, 1)
  const expected = await tablesOf(database.pool)
  await database.pool.use((connection) =>
    connection.query(`with a as (delete from stemma.transcript_progress), b as (delete from stemma.transcript_message)
      delete from stemma.transcript_part`),
  )
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: 4 }, () => projectTranscript(database.pool, 1)))
  }
  t.same(await tablesOf(database.pool), expected)
})

t.test(
  'the running projector writes what this server and others appended, through cuts, and drains when it is stopped',
  async (t) => {
    await using database = await openTestDatabase()
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    await using pool = openPool({
      url: proxy.url(database.url),
      max: 6,
      applicationName: 'stemma-cut',
    })
    const log = openLog({ pool, report: () => {} })
    await play(database.pool, 'ses_other', 3, 3)
    const problems: unknown[] = []
    const projector = startProjector({ pool, log, report: (problem) => problems.push(problem) })
    const acts = randomSession(seeded(4), 6).acts
    for (const [n, act] of acts.entries()) {
      if (n % 5 === 0) proxy.cutAll()
      await log.execute({ tenant: 1, sessionId: 'ses_own', ...act })
    }
    const behind = async (): Promise<number> => {
      const [row] = await database.pool.use((connection) =>
        connection.query<{ n: number }>(
          `select count(*) as n from stemma.session s
           left join stemma.transcript_progress p on p.sid = s.sid
           left join stemma.session_info i on i.sid = s.sid
           where s.head > coalesce(p.seq, 0) or s.head > coalesce(i.seq, 0)`,
        ),
      )
      return row!.n
    }
    for (let tries = 0; tries < 150 && (await behind()) > 0; tries += 1) await sleep(100)
    t.equal(await behind(), 0, 'both sessions, in the transcript and in the list')
    await projector[Symbol.asyncDispose]()
    await log[Symbol.asyncDispose]()
    const page = await readMessages(
      database.pool,
      { tenant: 1, sessionId: 'ses_own' },
      { limit: 500, order: 'asc' },
    )
    t.ok(page.data.length > 5)
  },
)

t.test('the list of sessions is written by whoever comes first, and only once', async (t) => {
  await using database = await openTestDatabase()
  for (let n = 0; n < 3; n += 1) await play(database.pool, `ses_${n}`, n, 2)
  await Promise.all(Array.from({ length: 4 }, () => projectSessions(database.pool)))
  const rows = await database.pool.use((connection) =>
    connection.query<{ seq: number; head: number; title: string }>(
      'select i.seq, s.head, i.title from stemma.session_info i join stemma.session s using (sid)',
    ),
  )
  t.equal(rows.length, 3)
  t.ok(rows.every((row) => row.seq === row.head))
})

t.test('no error was left uncaught by all of this', async (t) => {
  t.same(uncaught, [])
})
