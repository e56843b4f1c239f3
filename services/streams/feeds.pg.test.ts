import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endpointOf, openCutProxy } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { startTestServer } from '../../test/harness/test-server.ts'
import { makeTwin } from '../../test/harness/twin.ts'
import type { Bus } from '../bus/bus.ts'
import { openHall } from '../bus/in-process-bus.ts'
import { migrate } from '../database/migrate.ts'
import { openPool, type Pool } from '../database/pool.ts'
import { openLog } from '../log/open-log.ts'
import { openFeeds } from './feeds.ts'
import { followSession } from './follow-session.ts'
import type { Sink } from './sink.ts'

const target = { tenant: 1, sessionId: 's' }

/** A server of a log: what it appends, and who follows through it. */
const openServer = async (pool: Pool, bus: Bus) => {
  const log = openLog({ pool, report: () => {} })
  await log.horizon.ready
  const feeds = openFeeds({ pool, log, bus, report: () => {} })
  return {
    log,
    feeds,
    create: () => log.execute({ ...target, kind: 'create', event: event('session.created', {}) }),
    rename: (title: string) =>
      log.execute({ ...target, kind: 'append', events: [event('session.renamed', { title })] }),
    [Symbol.asyncDispose]: async () => {
      await feeds[Symbol.asyncDispose]()
      await log[Symbol.asyncDispose]()
      await bus[Symbol.asyncDispose]()
    },
  }
}

type Heard = { readonly seqs: number[]; readonly said: string[] }

const keep = (heard: Heard): Sink => ({
  turn: (work) => work(),
  event: (_text, { seq }) => heard.seqs.push(seq),
  caughtUp: () => heard.said.push('caught-up'),
  reset: ({ reason }) => heard.said.push(`reset ${reason}`),
  ended: ({ reason }) => heard.said.push(`ended ${reason}`),
})

const until = async (done: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 1_000 && !done(); tries += 1) await sleep(10)
}

/** A bus on which nothing is ever heard. */
const deaf = (): Bus => ({
  ring: () => {},
  onRing: () => () => {},
  connected: false,
  ready: Promise.resolve(),
  [Symbol.asyncDispose]: async () => {},
})

const withServers = async (
  buses: readonly [Bus, Bus],
  work: (
    a: Awaited<ReturnType<typeof openServer>>,
    b: Awaited<ReturnType<typeof openServer>>,
  ) => Promise<void>,
  database: TestDatabase,
): Promise<void> => {
  await using a = await openServer(database.pool, buses[0])
  await using b = await openServer(database.pool, buses[1])
  await work(a, b)
}

t.test(
  'S2: what another server appended is heard by a ring, and without any ring by the poller',
  async (t) => {
    const hall = openHall()
    for (const buses of [
      [hall.join(), hall.join()],
      [deaf(), deaf()],
    ] as const) {
      await using database = await openTestDatabase()
      await withServers(
        buses,
        async (a, b) => {
          await a.create()
          const heard: Heard = { seqs: [], said: [] }
          const stop = new AbortController()
          const following = followSession(
            b.feeds,
            target,
            { afterSeq: 0 },
            keep(heard),
            stop.signal,
          )
          await until(() => heard.said.length > 0)
          for (const title of ['a', 'b', 'c']) await a.rename(title)
          await until(() => heard.seqs.length === 4)
          t.same(heard.seqs, [1, 2, 3, 4])
          stop.abort()
          await following
          t.equal(b.feeds.size, 0, 'nothing is kept of a session that nobody follows')
        },
        database,
      )
    }
  },
)

t.test('S2: rings that lie, come late or twice change nothing', async (t) => {
  await using database = await openTestDatabase()
  const hall = openHall()
  const liar = hall.join()
  await using server = await openServer(database.pool, hall.join())
  await server.create()
  const heard: Heard = { seqs: [], said: [] }
  const stop = new AbortController()
  const following = followSession(server.feeds, target, { afterSeq: 0 }, keep(heard), stop.signal)
  await until(() => heard.said.length > 0)
  for (const headSeq of [9, 1, 9, 0]) liar.ring({ sid: 1, headSeq })
  liar.ring({ sid: 77, headSeq: 1 })
  await sleep(100)
  await server.rename('x')
  await server.rename('y')
  await until(() => heard.seqs.length === 3)
  t.same(heard, { seqs: [1, 2, 3], said: ['caught-up'] })
  stop.abort()
  await following
})

t.test('an outage of the database is waited out by who follows', async (t) => {
  await using database = await openTestDatabase()
  await using proxy = await openCutProxy({ to: endpointOf(database.url) })
  await using pool = openPool({ url: proxy.url(database.url), max: 4, applicationName: 'cut' })
  await using writer = await openServer(database.pool, deaf())
  await using reader = await openServer(pool, deaf())
  await writer.create()
  const heard: Heard = { seqs: [], said: [] }
  const stop = new AbortController()
  const following = followSession(reader.feeds, target, { afterSeq: 0 }, keep(heard), stop.signal)
  await until(() => heard.said.length > 0)
  proxy.refuse(true)
  proxy.cutAll()
  for (let n = 0; n < 5; n += 1) await writer.rename(`${n}`)
  await sleep(300)
  proxy.refuse(false)
  await until(() => heard.seqs.length === 6)
  t.same(heard, { seqs: [1, 2, 3, 4, 5, 6], said: ['caught-up'] })
  stop.abort()
  await following
})

t.test('S5: when another log comes behind the database, who follows is reset', async (t) => {
  await using database = await openTestDatabase()
  const other = await startTestServer()
  t.teardown(() => other.kill())
  const twin = await makeTwin(database, other.url)
  await using twinPool = openPool({ url: twin, max: 1, applicationName: 'twin' })
  await migrate(twinPool)
  await using proxy = await openCutProxy({ to: endpointOf(database.url) })
  await using pool = openPool({ url: proxy.url(database.url), max: 4, applicationName: 'cut' })
  await using server = await openServer(pool, deaf())
  await server.create()
  const heard: Heard = { seqs: [], said: [] }
  const following = followSession(
    server.feeds,
    target,
    { afterSeq: 0 },
    keep(heard),
    new AbortController().signal,
  )
  await until(() => heard.said.length > 0)
  proxy.lead(endpointOf(twin))
  proxy.cutAll()
  await following
  t.same(heard, { seqs: [1], said: ['caught-up', 'reset other_log'] })
})
