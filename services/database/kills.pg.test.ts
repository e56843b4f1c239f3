import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTestDatabase } from '../../test/harness/database.ts'
import { ending } from '../../test/harness/ending.ts'
import { openPool, type Pool } from './pool.ts'
import { runTransaction } from './run-transaction.ts'

/** A pool whose backends are killed from another one. */
const openVictim = async (max: number) => {
  const database = await openTestDatabase({ empty: true })
  await database.pool.use((one) => one.query('create table public.probe (n int primary key)'))
  const pool = openPool({ url: database.url, max, applicationName: 'victim' })
  const kill = `select count(pg_terminate_backend(pid))::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'victim'`
  const left = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'victim' and state <> 'idle'`
  const count = (sql: string) =>
    database.pool.use(async (one) => (await one.query<{ n: number }>(sql))[0]!.n)
  return {
    pool,
    kill: () => count(kill),
    numbers: async (): Promise<number[]> => {
      while ((await count(left)) > 0) await sleep(5)
      const sql = 'select n from public.probe order by n'
      return (await database.pool.use((one) => one.query<{ n: number }>(sql))).map(({ n }) => n)
    },
    [Symbol.asyncDispose]: async () => {
      await pool[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Two rows, or none: `at` is called between the steps of the transaction. */
const insertPair = (pool: Pool, n: number, at: (point: string) => Promise<void>) =>
  runTransaction(pool, {}, async (inside) => {
    await at('after begin')
    await inside.query('insert into public.probe values ($1)', [n])
    await at('between the inserts')
    await inside.query('insert into public.probe values ($1)', [n + 1])
    await at('before the commit')
  })

for (const max of [1, 3]) {
  for (const point of ['after begin', 'between the inserts', 'before the commit']) {
    t.test(`a transaction killed ${point} leaves nothing, with ${max} connections`, async (t) => {
      await using it = await openVictim(max)
      await insertPair(it.pool, 10, async () => {})
      const killed = insertPair(it.pool, 20, async (now) => {
        if (now !== point) return
        await it.kill()
        await sleep(30)
      })
      const queued = insertPair(it.pool, 30, async () => {})
      t.equal(await ending(killed), 'ConnectionLost')
      // The one that waited may have been given a connection that was killed as well.
      const other = await ending(queued)
      t.match(other, /^(done|ConnectionLost)$/)
      t.strictSame(await it.numbers(), other === 'done' ? [10, 11, 30, 31] : [10, 11])
      t.equal(await ending(insertPair(it.pool, 40, async () => {})), 'done', 'the pool goes on')
    })
  }

  t.test(`a statement killed while it runs is lost, with ${max} connections`, async (t) => {
    await using it = await openVictim(max)
    const running = ending(it.pool.use((one) => one.query('select pg_sleep(5)', [])))
    const inside = ending(
      runTransaction(it.pool, {}, async (one) => {
        await one.query('insert into public.probe values (1)')
        await one.query('select pg_sleep(5)', [])
      }),
    )
    await sleep(100)
    while ((await it.kill()) === 0) await sleep(10)
    t.equal(await running, 'ConnectionLost')
    if (max > 1) t.equal(await inside, 'ConnectionLost')
    else {
      await sleep(100)
      await it.kill()
      t.equal(await inside, 'ConnectionLost')
    }
    t.strictSame(await it.numbers(), [])
  })
}

t.test(
  'under kills at any moment no promise hangs and no acknowledged row is missing',
  async (t) => {
    await using it = await openVictim(6)
    const acknowledged: number[] = []
    const endings = new Map<string, number>()
    const until = Date.now() + 3_000
    const write = async (writer: number): Promise<void> => {
      for (let n = writer * 1_000_000; Date.now() < until; n += 2) {
        const single = n % 4 === 0
        const work = single
          ? it.pool.use((one) => one.query('insert into public.probe values ($1)', [n]))
          : insertPair(it.pool, n, async () => {})
        const how = await ending(work)
        endings.set(how, (endings.get(how) ?? 0) + 1)
        if (how === 'done') acknowledged.push(...(single ? [n] : [n, n + 1]))
      }
    }
    const killing = (async () => {
      for (; Date.now() < until; await sleep(30 + 60 * Math.random())) await it.kill()
    })()
    await Promise.all(Array.from({ length: 12 }, (_, writer) => write(writer + 1)))
    await killing
    t.strictSame([...endings.keys()].toSorted(), ['ConnectionLost', 'done'])
    t.ok(endings.get('ConnectionLost')! > 20, `${endings.get('ConnectionLost')} were lost`)
    const stored = new Set(await it.numbers())
    t.strictSame(
      acknowledged.filter((n) => !stored.has(n)),
      [],
      'acknowledged and missing',
    )
    const halves = [...stored].filter((n) => n % 4 === 2 && !stored.has(n + 1))
    t.strictSame(halves, [], 'half a transaction')
    t.equal(await ending(it.pool.use((one) => one.query('select 1'))), 'done')
  },
)
