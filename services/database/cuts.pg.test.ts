import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { endpointOf, openCutProxy, type CutRule } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { ending } from '../../test/harness/ending.ts'
import { openPool } from './pool.ts'
import { runTransaction } from './run-transaction.ts'

/** A table, a pool that goes through the proxy, and one that does not. */
const openCuttable = async (max: number) => {
  const database = await openTestDatabase({ empty: true })
  await database.pool.use((one) => one.query('create table public.probe (n int primary key)'))
  const proxy = await openCutProxy({ to: endpointOf(database.url) })
  const url = proxy.url(database.url)
  const pool = openPool({ url, max, applicationName: 'stemma-test' })
  return {
    proxy,
    pool,
    direct: database.pool,
    /** Once no statement runs any more, so that what was under way is decided. */
    numbers: async (): Promise<unknown[]> => {
      const others = `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`
      for (let busy = 1; busy > 0; await sleep(5)) {
        busy = (await database.pool.use((one) => one.query<{ n: number }>(others)))[0]!.n
      }
      const rows = await database.pool.use((one) =>
        one.query('select n from public.probe order by n'),
      )
      return rows.map(({ n }) => n)
    },
    [Symbol.asyncDispose]: async () => {
      await pool[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

const points = ['before the request', 'after the request', 'inside the reply'] as const

for (const max of [1, 3]) {
  for (const at of points) {
    t.test(`a statement cut ${at} is lost, not hung, with ${max} connections`, async (t) => {
      await using it = await openCuttable(max)
      const insert = (n: number) =>
        it.pool.use((one) => one.query('insert into public.probe values ($1)', [n]))
      await insert(1)
      const cut = it.proxy.cut({ at, matching: /^insert/ })
      const queued = [insert(2), insert(3), insert(4)].map(ending)
      const endings = await Promise.all(queued)
      await cut
      t.strictSame(endings.toSorted(), ['ConnectionLost', 'done', 'done'])
      const lost = endings.indexOf('ConnectionLost') + 2
      const expected =
        at === 'before the request' ? [1, 2, 3, 4].filter((n) => n !== lost) : [1, 2, 3, 4]
      t.strictSame(await it.numbers(), expected)
      t.equal(await ending(insert(5)), 'done', 'the pool goes on')
    })
  }

  const steps = ['begin', 'insert into public.probe values \\(\\$1\\)', 'update', 'commit'] as const
  for (const step of steps) {
    for (const at of points) {
      t.test(
        `a transaction cut ${at} of ${step} with ${max} connections is whole or not there`,
        async (t) => {
          await using it = await openCuttable(max)
          const two = (n: number) =>
            runTransaction(it.pool, {}, async (inside) => {
              await inside.query('insert into public.probe values ($1)', [n])
              await inside.query('update public.probe set n = -n where n = $1', [n])
              await inside.query('insert into public.probe values ($1)', [n + 1])
            })
          await two(10)
          const cut = it.proxy.cut({ at, matching: new RegExp(`^${step}`) })
          const [first, second] = await Promise.all([ending(two(20)), ending(two(30))])
          await cut
          t.strictSame([first, second].toSorted(), ['ConnectionLost', 'done'])
          const lost = first === 'ConnectionLost' ? [-20, 21] : [-30, 31]
          const kept = first === 'ConnectionLost' ? [-30, 31] : [-20, 21]
          const committed = step === 'commit' && at !== 'before the request'
          const expected = [-10, 11, ...kept, ...(committed ? lost : [])]
          t.strictSame(
            await it.numbers(),
            expected.toSorted((a, b) => a - b),
          )
          t.equal(await ending(two(40)), 'done', 'the pool goes on')
        },
      )
    }
  }
}

t.test(
  'who is cut while waiting for a lock is told at once, and may still be carried out',
  async (t) => {
    await using it = await openCuttable(1)
    await it.direct.use((one) => one.query('insert into public.probe values (1)'))
    const change = (to: number) =>
      it.pool.use((one) => one.query('update public.probe set n = $1', [to]))
    let ended = ''
    await runTransaction(it.direct, {}, async (holder) => {
      await holder.query('select n from public.probe for update')
      void it.proxy.cut({ at: 'after the request', matching: /^update/, afterMs: 100 })
      ended = await ending(change(2))
      t.equal(await ending(it.pool.use((one) => one.query('select 1'))), 'done', 'the pool goes on')
    })
    t.equal(ended, 'ConnectionLost')
    t.strictSame(await it.numbers(), [2], 'the server carried it out when the lock was free')
  },
)

const stalls: CutRule['at'][] = ['before the request', 'after the request', 'inside the reply']
for (const at of stalls) {
  t.test(`a line that goes dead ${at} is given up after the time limit`, async (t) => {
    await using it = await openCuttable(1)
    const ask = (n: number) =>
      it.pool.use((one) => one.query('select $1::int as n', [n], { timeoutMs: 300 }))
    await ask(1)
    void it.proxy.cut({ at, matching: /^select/, action: 'stall' })
    const [stalled, next] = await Promise.all([ending(ask(2)), ending(ask(3))])
    t.strictSame([stalled, next], ['ConnectionLost', 'done'])
  })
}

t.test('a connection cut while idle is not lent again', async (t) => {
  await using it = await openCuttable(3)
  await Promise.all([1, 2, 3].map((n) => it.pool.use((one) => one.query('select $1::int', [n]))))
  it.proxy.cutAll()
  await sleep(50)
  t.equal(it.pool.size, 0)
  const again = [1, 2, 3, 4, 5].map((n) => it.pool.use((one) => one.query('select $1::int', [n])))
  t.strictSame(await Promise.all(again.map(ending)), Array(5).fill('done'))
})

t.test('nothing is sent on a connection that was lost inside a transaction', async (t) => {
  await using it = await openCuttable(1)
  const ended = ending(
    runTransaction(it.pool, {}, async (inside) => {
      await inside.query('insert into public.probe values (1)')
      it.proxy.cutAll()
      await sleep(50)
      t.ok(inside.lost)
      await inside.query('insert into public.probe values (2)').catch(() => {})
      await inside.query('insert into public.probe values (3)').catch(() => {})
    }),
  )
  t.equal(await ended, 'ConnectionLost')
  t.strictSame(await it.numbers(), [])
})
