import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { testBus } from '../../test/harness/bus-contract.ts'
import { endpointOf, openCutProxy } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { openHall } from './in-process-bus.ts'
import { openPostgresBus } from './postgres-bus.ts'
import { readRings, ringTexts } from './ring-text.ts'

const uncaught: unknown[] = []
process.on('uncaughtException', (error) => uncaught.push(error))
process.on('unhandledRejection', (error) => uncaught.push(error))

testBus(t, 'in process', async () => ({ ...openHall(), [Symbol.asyncDispose]: async () => {} }))

testBus(t, 'PostgreSQL', async () => {
  const database = await openTestDatabase({ empty: true })
  const { url, pool } = database
  return {
    join: () => openPostgresBus({ url, pool, report: () => {} }),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
})

t.test('a bus whose line is cut listens again, and says so once', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const { url, pool } = database
  await using proxy = await openCutProxy({ to: endpointOf(url) })
  const problems: unknown[] = []
  await using a = openPostgresBus({ url, pool, report: () => {} })
  await using b = openPostgresBus({
    url: proxy.url(url),
    pool,
    report: (problem) => problems.push(problem),
  })
  await Promise.all([a.ready, b.ready])
  let heard = 0
  b.onRing((rings) => (heard = Math.max(heard, ...rings.map(({ headSeq }) => headSeq))))
  for (let round = 1; round <= 3; round += 1) {
    proxy.refuse(true)
    proxy.cutAll()
    while (b.connected) await sleep(5)
    a.ring({ sid: 1, headSeq: round * 10 - 5 })
    await sleep(150)
    proxy.refuse(false)
    while (!b.connected) await sleep(5)
    a.ring({ sid: 1, headSeq: round * 10 })
    for (let tries = 0; tries < 500 && heard < round * 10; tries += 1) await sleep(10)
    t.equal(heard, round * 10)
  }
  t.ok(problems.length >= 1 && problems.length <= 3, `${problems.length} reports of 3 outages`)
})

t.test('rings are split so that each fits into a notification, and come back whole', async (t) => {
  const heads = new Map(Array.from({ length: 5_000 }, (_, n) => [n + 1, n * 1_000_000_007]))
  const texts = ringTexts('abcd1234', heads)
  t.ok(texts.every((text) => text.length < 8_000))
  const back = texts.flatMap((text) => readRings(text).rings)
  t.same(new Map(back.map(({ sid, headSeq }) => [sid, headSeq])), heads)
  t.same(readRings('x 1:2 nonsense 3').rings, [{ sid: 1, headSeq: 2 }], 'a newer form is left out')
})

t.test('no error was left uncaught by all of this', async (t) => {
  t.same(uncaught, [])
})
