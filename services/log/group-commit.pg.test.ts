import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { openPool } from '../database/pool.ts'
import type { Command } from './command.ts'
import { openLog } from './open-log.ts'

const create = (sessionId: string): Command => ({
  tenant: 1,
  sessionId,
  kind: 'create',
  event: event('session.created', {}),
})
const rename = (sessionId: string, title: string, eventId?: string): Command => ({
  tenant: 1,
  sessionId,
  kind: 'append',
  events: [event('session.renamed', { title }, eventId === undefined ? {} : { eventId })],
})

t.test(
  'L8: a session that somebody holds locked does not stop the appends of others',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    await Promise.all(['a', 'b', 'c'].map((id) => log.execute(create(id))))
    await pool.use(async (holder) => {
      await holder.query('begin')
      await holder.query(`select from stemma.session where session_id = 'a' for update`)
      let held = true
      const blocked = log.execute(rename('a', 'waits')).then(() => held)
      for (let n = 0; n < 20; n += 1) {
        await Promise.all([log.execute(rename('b', `${n}`)), log.execute(rename('c', `${n}`))])
      }
      t.equal(await Promise.race([blocked, sleep(50, 'still waiting')]), 'still waiting')
      held = false
      await holder.query('rollback')
      t.equal(await blocked, false, 'and it goes on when the row is free')
    })
    await log[Symbol.asyncDispose]()
  },
)

t.test('L8: a bad append fails alone, its neighbours in the same call do not', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  const log = openLog({ pool, report: () => {} })
  await Promise.all(Array.from({ length: 16 }, (_, n) => log.execute(create(`s${n}`))))
  await log.execute(rename('s5', 'first', 'evt_taken'))
  const results = await Promise.allSettled(
    Array.from({ length: 16 }, (_, n) =>
      log.execute(rename(`s${n}`, 'second', n === 5 ? 'evt_taken' : undefined)),
    ),
  )
  t.same(
    results.map((r) => r.status),
    Array.from({ length: 16 }, (_, n) => (n === 5 ? 'rejected' : 'fulfilled')),
  )
  t.match(results[5], { reason: { code: 'event_id_reused' } })
  await log[Symbol.asyncDispose]()
})

t.test('appends of one session that wait together keep the order in which they came', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  const log = openLog({ pool, report: () => {} })
  await log.execute(create('s'))
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, n) => log.execute(rename('s', `${n}`))),
  )
  t.same(
    outcomes.map((o) => o.lastSeq),
    Array.from({ length: 200 }, (_, n) => n + 2),
  )
  await log[Symbol.asyncDispose]()
})

t.test(
  'what is larger than a call goes out in several, and more than may wait is refused as overloaded',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({
      pool,
      report: () => {},
      settings: { batchBytes: 10_000, waitingBytes: 300_000 },
    })
    await log.execute(create('s'))
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, () => log.execute(rename('s', 'x'.repeat(9_000)))),
    )
    const refused = results.filter((r) => r.status === 'rejected')
    t.ok(refused.length > 0 && refused.length < 40, `${refused.length} refused`)
    t.ok(refused.every((r) => (r.reason as { code: string }).code === 'overloaded'))
    const [row] = await pool.use((c) =>
      c.query<{ n: number }>('select count(*) as n from stemma.event'),
    )
    t.equal(row!.n, 41 - refused.length)
    await log[Symbol.asyncDispose]()
  },
)

t.test('a log that is stopping answers what it took and takes nothing more', async (t) => {
  await using database = await openTestDatabase()
  const log = openLog({ pool: database.pool, report: () => {} })
  await log.execute(create('s'))
  const taken = Array.from({ length: 50 }, (_, n) => log.execute(rename('s', `${n}`)))
  const stopped = log[Symbol.asyncDispose]()
  await t.rejects(log.execute(rename('s', 'late')), { code: 'overloaded' })
  await Promise.all(taken)
  await stopped
})

t.test('a listener that fails does not fail the append, nor send it again', async (t) => {
  await using database = await openTestDatabase()
  const problems: unknown[] = []
  const log = openLog({ pool: database.pool, report: (problem) => problems.push(problem) })
  log.onAppended(() => {
    throw new Error('a faulty listener')
  })
  await log.execute(create('s'))
  const outcomes = await Promise.all([1, 2, 3].map((n) => log.execute(rename('s', `${n}`))))
  t.same(
    outcomes.map((outcome) => outcome.lastSeq),
    [2, 3, 4],
  )
  t.ok(problems.length > 0, 'and it is reported')
  await log[Symbol.asyncDispose]()
})

t.test(
  'L8: as many locked sessions as the pool has connections do not starve the others',
  async (t) => {
    await using database = await openTestDatabase()
    await using pool = openPool({ url: database.url, max: 4, applicationName: 'narrow' })
    const log = openLog({ pool, report: () => {} })
    const locked = Array.from({ length: 6 }, (_, n) => `locked_${n}`)
    await Promise.all([...locked, 'free'].map((id) => log.execute(create(id))))
    await database.pool.use(async (holder) => {
      await holder.query('begin')
      await holder.query(`select from stemma.session where session_id like 'locked%' for update`)
      const blocked = Promise.all(locked.map((id) => log.execute(rename(id, 'waits'))))
      let done = false
      void blocked.then(() => (done = true))
      await sleep(300)
      for (let n = 0; n < 20; n += 1) await log.execute(rename('free', `${n}`))
      t.notOk(done, 'while all of them wait')
      await holder.query('rollback')
      await blocked
    })
    await log[Symbol.asyncDispose]()
  },
)

t.test('an error of the rules themselves reaches who asked, and the session goes on', async (t) => {
  await using database = await openTestDatabase()
  const log = openLog({ pool: database.pool, report: () => {} })
  await log.execute(create('s'))
  const broken = rename('s', 'x', 'evt_x')
  Object.assign((broken as unknown as { events: object[] }).events[0]!, {
    data: null,
    type: 'turn.started',
  })
  await t.rejects(log.execute(broken))
  t.equal((await log.execute(rename('s', 'after'))).lastSeq, 2)
  await log[Symbol.asyncDispose]()
})
