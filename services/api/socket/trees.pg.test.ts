import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endpointOf, openCutProxy } from '../../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../../test/harness/database.ts'
import { event } from '../../../test/harness/rehearsal.ts'
import { seeded } from '../../../test/harness/seeded.ts'
import { openSocket, type Frame, type SocketClient } from '../../../test/harness/socket-client.ts'
import { openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import { openPool } from '../../database/pool.ts'
import { readSettings } from '../../settings.ts'

const listening = async (app: TestApp): Promise<string> =>
  app.app.listen({ host: '127.0.0.1', port: 0 })

const create = (app: TestApp, sessionId: string, parent?: string) =>
  app.log.execute({
    tenant: 1,
    sessionId,
    kind: 'create',
    event: event('session.created', { ...(parent && { parent: { sessionId: parent } }) }),
  })
const rename = (app: TestApp, sessionId: string) =>
  app.log.execute({
    tenant: 1,
    sessionId,
    kind: 'append',
    events: [event('session.renamed', { title: 'x' })],
  })

type Of = { readonly sessionId?: string }
const caughtUpOf = (frames: readonly Frame[]) =>
  frames.flatMap(({ caughtUp }) => (caughtUp ? [(caughtUp as Of).sessionId] : [])).toSorted()

/** The seqs that came, by session. */
const heard = (frames: readonly Frame[], sub = 'tree'): Record<string, number[]> => {
  const seqs: Record<string, number[]> = {}
  for (const frame of frames) {
    if (frame.sub === sub && frame.event) (seqs[frame.event.sessionId] ??= []).push(frame.event.seq)
  }
  return seqs
}
const eventOf = (client: SocketClient, sessionId: string, seq: number) =>
  client.wait((frame) => frame.event?.sessionId === sessionId && frame.event.seq === seq)
const caughtUp = (client: SocketClient, sessionId: string) =>
  client.wait((frame) => (frame.caughtUp as Of | undefined)?.sessionId === sessionId)

t.test(
  'a tree gives the events of a session and its descendants, later ones included, each once and in order',
  async (t) => {
    await using app = await openTestApp()
    using client = await openSocket(await listening(app))
    await create(app, 'root')
    await create(app, 'a', 'root')
    await create(app, 'a1', 'a')
    await create(app, 'other')
    await create(app, 'early', 'b1')
    await create(app, 'below', 'early')
    await rename(app, 'a1')
    client.send({ op: 'subscribe', sub: 'tree', sessionId: 'root', tree: true })
    for (const sessionId of ['root', 'a', 'a1']) await caughtUp(client, sessionId)
    t.same(heard(client.frames), { root: [1], a: [1], a1: [1, 2] })
    await create(app, 'b', 'root')
    await create(app, 'b1', 'b')
    await create(app, 'of-other', 'other')
    await rename(app, 'b1')
    for (const sessionId of ['root', 'a1', 'other']) await rename(app, sessionId)
    for (const sessionId of ['b', 'b1']) await caughtUp(client, sessionId)
    await eventOf(client, 'b1', 2)
    await eventOf(client, 'root', 2)
    await eventOf(client, 'a1', 3)
    for (const sessionId of ['early', 'below']) await caughtUp(client, sessionId)
    t.same(heard(client.frames), {
      root: [1, 2],
      a: [1],
      a1: [1, 2, 3],
      b: [1],
      b1: [1, 2],
      early: [1],
      below: [1],
    })
    t.same(caughtUpOf(client.frames), ['a', 'a1', 'b', 'b1', 'below', 'early', 'root'])
    client.send({ op: 'unsubscribe', sub: 'tree' })
    client.send({ op: 'ping' })
    await client.wait(({ pong }) => pong === true)
    const before = client.frames.length
    await create(app, 'late', 'b1')
    await rename(app, 'root')
    client.send({ op: 'subscribe', sub: 'alone', sessionId: 'root', afterSeq: 2, tree: false })
    await client.wait(({ sub, event: e }) => sub === 'alone' && e?.seq === 3)
    t.same(heard(client.frames.slice(before)), {}, 'nothing after it was unsubscribed')
    t.same(app.reported, [])
  },
)

t.test(
  'a client comes back with the seqs that it has; who it does not know is given whole',
  async (t) => {
    await using app = await openTestApp()
    using client = await openSocket(await listening(app))
    await create(app, 'root')
    for (const sessionId of ['a', 'b']) {
      await create(app, sessionId, 'root')
      await rename(app, sessionId)
      await rename(app, sessionId)
    }
    const back = { op: 'subscribe', sub: 'tree', sessionId: 'root', tree: true, afterSeq: 1 }
    client.send({ ...back, after: { a: 2, stranger: 7 } })
    for (const sessionId of ['root', 'a', 'b']) await caughtUp(client, sessionId)
    t.same(heard(client.frames), { a: [3], b: [1, 2, 3] })
    client.send({ ...back, sub: 'now', afterSeq: -1, after: { a: 1 } })
    await client.wait((f) => f.sub === 'now' && (f.caughtUp as Of | undefined)?.sessionId === 'b')
    await create(app, 'c', 'b')
    await rename(app, 'b')
    await client.wait((f) => f.sub === 'now' && f.event?.sessionId === 'c')
    await client.wait((f) => f.sub === 'now' && f.event?.sessionId === 'b')
    t.same(heard(client.frames, 'now'), { a: [2, 3], b: [4], c: [1] }, 'from now on')
  },
)

t.test('what is wrong with a tree is said, and a place that is none resets it', async (t) => {
  await using app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 'root')
  await create(app, 'a', 'root')
  const tree = { op: 'subscribe', sessionId: 'root', tree: true }
  for (const [n, [frame, code, pointer]] of (
    [
      [{ ...tree, tree: 'yes' }, 'invalid_body', '/tree'],
      [{ ...tree, after: { a: -1 } }, 'invalid_body', '/after/a'],
      [{ ...tree, after: { 'a b': 1 } }, 'invalid_body', '/after/a b'],
      [{ ...tree, after: [] }, 'invalid_body', '/after'],
      [{ ...tree, tree: false, after: {} }, 'invalid_body', '/after'],
      [{ ...tree, sessionId: 'nobody' }, 'session_not_found', undefined],
    ] as const
  ).entries()) {
    client.send({ ...frame, sub: `${n}` })
    const { error } = await client.wait(({ sub, error: e }) => sub === `${n}` && !!e)
    t.equal(error!.code, code, JSON.stringify(frame))
    t.equal(error!.errors?.[0]?.pointer, pointer)
  }
  client.send({ ...tree, sub: 'ahead', after: { a: 9 } })
  t.match(await client.wait(({ sub, reset }) => sub === 'ahead' && !!reset), {
    reset: { reason: 'ahead', sessionId: 'a' },
  })
  client.send({ ...tree, sub: 'log', log: 'another' })
  t.match(await client.wait(({ sub }) => sub === 'log'), { reset: { reason: 'other_log' } })
  t.same(app.reported, [])
})

t.test(
  'a deleted member ends and the rest goes on; restored it goes on too; the root ends it all',
  async (t) => {
    await using app = await openTestApp()
    using client = await openSocket(await listening(app))
    await create(app, 'root')
    for (const sessionId of ['a', 'b', 'gone']) await create(app, sessionId, 'root')
    await create(app, 'below', 'gone')
    await app.call('DELETE', '/v1/sessions/gone')
    client.send({ op: 'subscribe', sub: 'tree', sessionId: 'root', tree: true })
    const endOf = (sessionId: string) =>
      client.wait(({ ended }) => (ended as Of | undefined)?.sessionId === sessionId)
    t.same((await endOf('gone')).ended, { sessionId: 'gone', reason: 'deleted', afterSeq: 0 })
    for (const sessionId of ['root', 'a', 'b', 'below']) await caughtUp(client, sessionId)
    await app.call('DELETE', '/v1/sessions/a')
    t.same((await endOf('a')).ended, { sessionId: 'a', reason: 'deleted', afterSeq: 2 })
    await rename(app, 'b')
    await eventOf(client, 'b', 2)
    for (const sessionId of ['a', 'gone']) {
      await app.call('POST', `/v1/sessions/${sessionId}/restore`)
      await eventOf(client, sessionId, 3)
    }
    t.same(heard(client.frames), {
      root: [1],
      a: [1, 2, 3],
      b: [1, 2],
      below: [1],
      gone: [1, 2, 3],
    })
    await app.call('DELETE', '/v1/sessions/root')
    t.same((await endOf('root')).ended, { sessionId: 'root', reason: 'deleted', afterSeq: 2 })
    const before = client.frames.length
    await rename(app, 'b')
    client.send({ op: 'subscribe', sub: 'tree', sessionId: 'b' })
    await client.wait(({ caughtUp: at }) => at?.seq === 3 && !('sessionId' in at))
    t.same(
      heard(client.frames.slice(before)),
      { b: [1, 2, 3] },
      'the name is free, nothing else came',
    )
    t.same(app.reported, [])
  },
)

t.test('the sessions of a tree count among the subscriptions of a socket', async (t) => {
  await using app = await openTestApp({ settings: { ...readSettings({}), maxSubscriptions: 3 } })
  using client = await openSocket(await listening(app))
  await create(app, 'root')
  for (const sessionId of ['a', 'b']) await create(app, sessionId, 'root')
  client.send({ op: 'subscribe', sub: 'tree', sessionId: 'root', tree: true })
  for (const sessionId of ['root', 'a', 'b']) await caughtUp(client, sessionId)
  client.send({ op: 'subscribe', sub: 'more', sessionId: 'root' })
  t.match(await client.wait(({ sub }) => sub === 'more'), { error: { code: 'too_many' } })
  await app.call('DELETE', '/v1/sessions/b')
  await client.wait(({ ended }) => ended !== undefined)
  await create(app, 'c', 'a')
  await caughtUp(client, 'c')
  await create(app, 'd', 'a')
  t.match(await client.wait(({ sub, error }) => sub === 'tree' && !!error), {
    error: { code: 'too_many' },
  })
  for (const sub of ['x', 'y', 'z']) client.send({ op: 'subscribe', sub, sessionId: 'root' })
  for (const sub of ['x', 'y', 'z']) {
    t.ok(await client.wait((f) => f.sub === sub && !!f.caughtUp), 'their places are free again')
  }
})

t.test('a server that stops says where each session of a tree was', async (t) => {
  const app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 'root')
  await create(app, 'a', 'root')
  await rename(app, 'a')
  client.send({ op: 'subscribe', sub: 'tree', sessionId: 'root', tree: true })
  for (const sessionId of ['root', 'a']) await caughtUp(client, sessionId)
  await app[Symbol.asyncDispose]()
  await client.closed
  t.match(client.frames.at(-1), {
    goingAway: { subs: [{ sub: 'tree', afterSeq: 1, after: { a: 2 } }] },
  })
})

t.test('what a session of the tree says live is heard, and says whose it is', async (t) => {
  await using app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 'root')
  client.send({ op: 'subscribe', sub: 'tree', sessionId: 'root', tree: true })
  await caughtUp(client, 'root')
  await create(app, 'a', 'root')
  await caughtUp(client, 'a')
  const frame = { messageId: 'm', partId: 'p', kind: 'text', offset: 0, delta: 'hello' }
  client.send({ op: 'live', sessionId: 'a', ...frame })
  t.match(await client.wait(({ live }) => live !== undefined), {
    sub: 'tree',
    sessionId: 'a',
    live: { messageId: 'm', delta: 'hello' },
  })
})

t.test(
  'over two servers, cuts and reconnects each event of a growing tree comes once and in order',
  async (t) => {
    const random = seeded(24)
    await using database = await openTestDatabase()
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    await using cutPool = openPool({ url: proxy.url(database.url), max: 4, applicationName: 'cut' })
    const cutDatabase = {
      url: proxy.url(database.url),
      name: database.name,
      pool: cutPool,
      [Symbol.asyncDispose]: async () => {},
    }
    await using writer = await openTestApp({ database })
    await using reader = await openTestApp({ database: cutDatabase })
    const origins = [await listening(writer), await listening(reader)]
    await create(writer, 's0')
    const heads = new Map([['s0', 1]])
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    let stopped = false
    const writing = (async () => {
      for (let n = 1; n <= 150; n += 1) {
        const sessionId = pick([...heads.keys()])
        if (random() < 0.25) {
          await create(writer, `s${n}`, sessionId)
          heads.set(`s${n}`, 1)
        } else heads.set(sessionId, (await rename(writer, sessionId)).headSeq)
        await sleep(random() * 10)
      }
      stopped = true
    })()

    const seen = new Map<string, number>()
    const faults: string[] = []
    const take = ({ event: e, error, reset }: Frame): void => {
      // Who comes in an outage is told to come again.
      if (reset || (error && error.code !== 'overloaded'))
        faults.push(JSON.stringify(error ?? reset))
      if (!e) return
      const last = seen.get(e.sessionId) ?? 0
      if (e.seq !== last + 1) faults.push(`${e.sessionId}: ${e.seq} after ${last}`)
      seen.set(e.sessionId, e.seq)
    }
    const complete = (): boolean =>
      stopped && [...heads].every(([sessionId, head]) => seen.get(sessionId) === head)
    for (let round = 0; !complete() && round < 200; round += 1) {
      const reading = round % 2 === 1
      const client = await openSocket(origins[round % 2]!, { onFrame: take }).catch(() => undefined)
      if (!client) continue
      const { s0 = 0, ...after } = Object.fromEntries(seen)
      client.send({
        op: 'subscribe',
        sub: 'tree',
        sessionId: 's0',
        tree: true,
        afterSeq: s0,
        after,
      })
      await client.wait((f) => f.caughtUp !== undefined || f.error !== undefined)
      if (reading) proxy.cutAll()
      for (let tries = 0; tries < 15 + random() * 30 && !complete(); tries += 1) await sleep(10)
      client.socket.terminate()
      await client.closed
    }
    await writing
    t.same(faults, [])
    t.same(Object.fromEntries(seen), Object.fromEntries(heads))
  },
)
