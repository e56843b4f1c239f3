import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDataDir } from '../../test/harness/data-dir.ts'
import { ending } from '../../test/harness/ending.ts'
import { processStart } from './embedded/process-alive.ts'
import { startEmbedded } from './embedded/start-embedded.ts'
import { openPool, type Pool } from './pool.ts'
import { runTransaction } from './run-transaction.ts'

const insertPair = (pool: Pool, n: number): Promise<void> =>
  runTransaction(pool, {}, async (inside) => {
    await inside.query('insert into public.probe values ($1)', [n])
    await inside.query('insert into public.probe values ($1)', [n + 1])
  })

for (const [how, signal] of [
  ['fast', 'SIGINT'],
  ['immediate', 'SIGQUIT'],
] as const) {
  t.test(`a ${how} restart of PostgreSQL under load loses and halves nothing`, async (t) => {
    using dataDir = openDataDir()
    const options = { dataDir: dataDir.path, log: () => {} }
    let server = await startEmbedded(options)
    const pool = openPool({
      url: server.url,
      max: 6,
      applicationName: 'stemma-test',
      acquireTimeoutMs: 5_000,
    })
    await pool.use((one) => one.query('create table public.probe (n int primary key)'))
    const incarnation = pool.incarnation
    const acknowledged: number[] = []
    const endings = new Map<string, number>()
    const writing = new AbortController()
    const write = async (writer: number): Promise<void> => {
      for (let n = writer * 1_000_000; !writing.signal.aborted; n += 2) {
        const ended = await ending(insertPair(pool, n))
        endings.set(ended, (endings.get(ended) ?? 0) + 1)
        if (ended === 'done') acknowledged.push(n, n + 1)
      }
    }
    const writers = Array.from({ length: 12 }, (_, writer) => write(writer + 1))
    for (let restart = 0; restart < 2; restart += 1) {
      await sleep(400)
      process.kill(server.pid, signal)
      while (processStart(server.pid) !== undefined) await sleep(10)
      await sleep(300)
      server = await startEmbedded(options)
      t.notOk(server.joined)
    }
    const before = acknowledged.length
    for (let waits = 0; waits < 250 && acknowledged.length === before; waits += 1) await sleep(20)
    t.ok(acknowledged.length > before, 'the pool has recovered by itself')
    writing.abort()
    await Promise.all(writers)
    t.notOk(endings.has('HANGS'))
    t.ok(endings.get('ConnectionLost')! > 0, JSON.stringify([...endings]))
    const rows = await pool.use((one) => one.query<{ n: number }>('select n from public.probe'))
    const stored = new Set(rows.map(({ n }) => n))
    const missing = acknowledged.filter((n) => !stored.has(n))
    t.strictSame(missing, [], 'acknowledged and missing')
    const halves = [...stored].filter((n) => !stored.has(n % 2 === 0 ? n + 1 : n - 1))
    t.strictSame(halves, [], 'half a transaction')
    t.equal(pool.incarnation, incarnation, 'a restart is the same log')
    await pool[Symbol.asyncDispose]()
    t.equal(await server.stop(), 'stopped')
  })
}
