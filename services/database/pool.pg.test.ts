import t from 'tap'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { endpointOf, openCutProxy } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { startTestServer } from '../../test/harness/test-server.ts'
import { makeTwin } from '../../test/harness/twin.ts'
import { openPool } from './pool.ts'

t.test('more callers than connections are all served, none twice at once', async (t) => {
  await using database = await openTestDatabase({ empty: true, max: 3 })
  let busy = 0
  let most = 0
  const rows = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      database.pool.use(async (connection) => {
        most = Math.max(most, (busy += 1))
        const result = await connection.query('select $1::int as n', [n])
        busy -= 1
        return result[0]
      }),
    ),
  )
  t.strictSame(
    rows,
    Array.from({ length: 60 }, (_, n) => ({ n })),
  )
  t.ok(most <= 3 && database.pool.size <= 3)
  t.equal(database.pool.waiting, 0)
})

t.test('who waits too long for a connection is refused as overloaded', async (t) => {
  await using database = await openTestDatabase({ empty: true, max: 1 })
  await database.pool.use(async () => {
    const waiting = database.pool.use(() => Promise.resolve(), { acquireTimeoutMs: 50 })
    await t.rejects(waiting, { name: 'Refusal', code: 'overloaded' })
    t.equal(database.pool.waiting, 0)
  })
  t.equal(await database.pool.use(() => Promise.resolve('free')), 'free')
})

t.test(
  'a server that is away refuses its callers in time, and is found when it is back',
  async (t) => {
    await using database = await openTestDatabase({ empty: true })
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    await using pool = openPool({
      url: proxy.url(database.url),
      max: 4,
      applicationName: 'stemma-test',
      acquireTimeoutMs: 700,
    })
    const ask = () => pool.use((one) => one.query('select 1 as n'))
    t.strictSame(await ask(), [{ n: 1 }])
    proxy.refuse(true)
    proxy.cutAll()
    await sleep(20)
    const refused = await Promise.allSettled(Array.from({ length: 20 }, ask))
    t.ok(refused.every((one) => one.status === 'rejected'))
    await t.rejects(ask(), { name: 'Refusal', code: 'overloaded' })
    proxy.refuse(false)
    t.strictSame(await pool.use((one) => one.query('select 1 as n'), { acquireTimeoutMs: 5_000 }), [
      { n: 1 },
    ])
  },
)

t.test('a short absence of the server is waited out', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  await using proxy = await openCutProxy({ to: endpointOf(database.url) })
  const url = proxy.url(database.url)
  await using pool = openPool({ url, max: 4, applicationName: 'stemma-test' })
  proxy.refuse(true)
  const waiting = Array.from({ length: 8 }, () => pool.use((one) => one.query('select 1 as n')))
  await sleep(400)
  proxy.refuse(false)
  for (const rows of await Promise.all(waiting)) t.strictSame(rows, [{ n: 1 }])
})

t.test('a server that takes connections and says nothing does not hold its callers', async (t) => {
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  const pool = openPool({
    url: `postgres://x:y@127.0.0.1:${port}/z`,
    max: 2,
    applicationName: 'stemma-test',
    acquireTimeoutMs: 10_000,
    connectTimeoutMs: 150,
  })
  const started = performance.now()
  await t.rejects(
    pool.use((one) => one.query('select 1')),
    { name: 'Refusal', code: 'overloaded' },
  )
  t.ok(performance.now() - started < 9_000, 'before its own limit, because nothing answers')
  await pool[Symbol.asyncDispose]()
  silent.close()
})

t.test('a wrong password is told at once', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const url = new URL(database.url)
  url.password = 'wrong'
  await using pool = openPool({ url: url.href, max: 2, applicationName: 'stemma-test' })
  await t.rejects(
    pool.use((one) => one.query('select 1')),
    { name: 'DatabaseError', code: '28P01' },
  )
})

t.test(
  'a statement left running when the work is over does not reach the next borrower',
  async (t) => {
    await using database = await openTestDatabase({ empty: true, max: 1 })
    let left: Promise<unknown> | undefined
    await database.pool.use(async (connection) => {
      left = connection.query('select pg_sleep(5)').catch((error: Error) => error.name)
    })
    t.strictSame(await database.pool.use((one) => one.query('select 1 as n', [])), [{ n: 1 }])
    t.equal(await left, 'ConnectionLost')
  },
)

t.test(
  'another log behind the same address is told once, and old connections are not lent',
  async (t) => {
    await using database = await openTestDatabase({ empty: true })
    const other = await startTestServer()
    t.teardown(() => other.kill())
    await makeTwin(database, other.url)
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    const url = proxy.url(database.url)
    await using pool = openPool({ url, max: 4, applicationName: 'stemma-test' })
    const heard: string[] = []
    pool.onIncarnation((incarnation) => heard.push(incarnation))
    const whose = () =>
      pool.use(async (connection) => {
        const [row] = await connection.query<{ id: string }>(
          'select system_identifier::text as id from pg_control_system()',
        )
        return row!.id
      })
    // Two connections: one is still idle, and one is lent, when the new log appears.
    const [before] = await Promise.all([whose(), whose()])
    t.strictSame(heard, [])
    proxy.lead(endpointOf(other.url))
    await pool.use(() => pool.use(() => pool.use(() => Promise.resolve())))
    t.strictSame(heard, [pool.incarnation])
    for (let n = 0; n < 6; n += 1) t.not(await whose(), before)
    t.equal(heard.length, 1)
  },
)
