import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endpointOf, openCutProxy } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { openStreams } from '../../test/harness/streams.ts'
import { startTestServer } from '../../test/harness/test-server.ts'
import { makeTwin } from '../../test/harness/twin.ts'
import { migrate } from '../database/migrate.ts'
import { openPool, type Pool } from '../database/pool.ts'
import { openLog, type Log } from '../log/open-log.ts'
import { followTree, type TreeSink } from './follow-tree.ts'

const report = (): void => {}

const create = (log: Log, sessionId: string, parent?: string) =>
  log.execute({
    tenant: 1,
    sessionId,
    kind: 'create',
    event: event('session.created', { ...(parent && { parent: { sessionId: parent } }) }),
  })

type Heard = { readonly events: string[]; readonly said: string[] }

const keep = (heard: Heard): TreeSink => ({
  turn: (work) => work(),
  event: (_text, { sessionId, seq }) => heard.events.push(`${sessionId} ${seq}`),
  caughtUp: ({ sessionId }) => heard.said.push(`${sessionId} caught up`),
  reset: ({ reason }) => heard.said.push(`reset ${reason}`),
  ended: ({ sessionId, reason }) => heard.said.push(`${sessionId} ended ${reason}`),
  joined: () => {},
  left: () => {},
})

const until = async (done: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 1_000 && !done(); tries += 1) await sleep(10)
}

/** A pool that does something after each of its first uses. */
const between = (pool: Pool, after: (use: number) => Promise<unknown>): Pool => {
  let uses = 0
  const use: Pool['use'] = async (work) => {
    const result = await pool.use(work)
    uses += 1
    await after(uses)
    return result
  }
  return Object.create(pool, { use: { value: use } }) as Pool
}

t.test('who is born while the tree is being read is followed, and once', async (t) => {
  await using database = await openTestDatabase()
  const { pool, url } = database
  await using log = openLog({ pool, report })
  await log.horizon.ready
  await using streams = openStreams({ url, pool, log, report })
  await create(log, 'root')
  await create(log, 'there', 'root')
  const heard: Heard = { events: [], said: [] }
  const stop = new AbortController()
  const slow = between(pool, async (use) => {
    if (use <= 2) await create(log, `born${use}`, 'root')
  })
  const following = followTree(
    { pool: slow, log, feeds: streams.feeds },
    { tenant: 1, sessionId: 'root' },
    { afterSeq: 0 },
    keep(heard),
    stop.signal,
  )
  await until(() => heard.said.length >= 4)
  await log.execute({
    tenant: 1,
    sessionId: 'born2',
    kind: 'append',
    events: [event('session.renamed', { title: 'x' })],
  })
  await until(() => heard.events.includes('born2 2'))
  t.same(heard.events.toSorted(), ['born1 1', 'born2 1', 'born2 2', 'root 1', 'there 1'])
  stop.abort()
  await following
  t.equal(streams.feeds.size, 0, 'nothing is kept of a tree that nobody follows')
})

t.test('S5: when another log comes behind the database, a tree is reset, once', async (t) => {
  await using database = await openTestDatabase()
  const other = await startTestServer()
  t.teardown(() => other.kill())
  const twin = await makeTwin(database, other.url)
  await using twinPool = openPool({ url: twin, max: 1, applicationName: 'twin' })
  await migrate(twinPool)
  await using proxy = await openCutProxy({ to: endpointOf(database.url) })
  const url = proxy.url(database.url)
  await using pool = openPool({ url, max: 4, applicationName: 'cut' })
  await using log = openLog({ pool, report })
  await log.horizon.ready
  await using streams = openStreams({ url, pool, log, report })
  await create(log, 'root')
  for (const sessionId of ['a', 'b']) await create(log, sessionId, 'root')
  const heard: Heard = { events: [], said: [] }
  const following = followTree(
    { pool, log, feeds: streams.feeds },
    { tenant: 1, sessionId: 'root' },
    { afterSeq: 0 },
    keep(heard),
    new AbortController().signal,
  )
  await until(() => heard.said.length === 3)
  proxy.lead(endpointOf(twin))
  proxy.cutAll()
  await following
  t.same(heard.events.toSorted(), ['a 1', 'b 1', 'root 1'])
  t.same(heard.said.slice(3), ['reset other_log'])
})
