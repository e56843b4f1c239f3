import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSocket, type Frame } from '../../../test/harness/socket-client.ts'
import { openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import { readSettings } from '../../settings.ts'

const listening = async (app: TestApp): Promise<string> =>
  app.app.listen({ host: '127.0.0.1', port: 0 })

const create = (app: TestApp, sessionId: string) => app.call('POST', '/v1/sessions', { sessionId })
const rename = (title: string, eventId?: string) => ({
  type: 'session.renamed',
  data: { title },
  ...(eventId !== undefined && { eventId }),
})
const append = (app: TestApp, sessionId: string, ...titles: string[]) =>
  app.call('POST', `/v1/sessions/${sessionId}/events`, {
    events: titles.map((title) => rename(title)),
  })
const seqs = (frames: readonly Frame[], sub: string) =>
  frames.flatMap((frame) => (frame.sub === sub && frame.event ? [frame.event.seq] : []))

t.test(
  'a subscription gives the events after its seq, then caught-up, then what is appended',
  async (t) => {
    await using app = await openTestApp()
    using client = await openSocket(await listening(app))
    await create(app, 's')
    await append(app, 's', 'a', 'b')
    client.send({ op: 'subscribe', sub: 'one', sessionId: 's', afterSeq: 1 })
    const { caughtUp } = await client.wait(({ caughtUp: at }) => at !== undefined)
    t.same(seqs(client.frames, 'one'), [2, 3])
    t.match(caughtUp, { seq: 3, log: String })
    await append(app, 's', 'c')
    await client.wait(({ event }) => event?.seq === 4)
    const page = await app.call('GET', '/v1/sessions/s/events?afterSeq=1')
    t.same(
      client.frames.flatMap(({ event }) => event ?? []),
      (page.body as { data: unknown[] }).data,
      'the same envelopes as a page has',
    )
    client.send({ op: 'subscribe', sub: 'live', sessionId: 's', afterSeq: -1 })
    await client.wait(({ sub, caughtUp: at }) => sub === 'live' && at?.seq === 4)
    client.send({ op: 'unsubscribe', sub: 'one' })
    client.send({ op: 'ping' })
    await client.wait(({ pong }) => pong === true)
    await append(app, 's', 'd')
    await client.wait(({ sub, event }) => sub === 'live' && event?.seq === 5)
    t.same(seqs(client.frames, 'live'), [5], 'live only')
    t.same(seqs(client.frames, 'one'), [2, 3, 4], 'nothing after it was unsubscribed')
    t.same(app.reported, [])
  },
)

t.test(
  'appends on a socket are stored in the order in which they were sent, and answered',
  async (t) => {
    await using app = await openTestApp()
    using client = await openSocket(await listening(app))
    await create(app, 's')
    for (let n = 1; n <= 300; n += 1) {
      client.send({ op: 'append', ref: `${n}`, sessionId: 's', events: [rename(`${n}`)] })
    }
    await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        const { ok } = await client.wait(({ ref }) => ref === `${n + 1}`)
        t.equal(ok?.lastSeq, n + 2)
      }),
    )
    const keyed = {
      op: 'append',
      sessionId: 's',
      idempotencyKey: 'key_1',
      events: [rename('once', 'evt_once')],
    }
    client.send({ ...keyed, ref: 'first' })
    client.send({ ...keyed, ref: 'again' })
    const [first, again] = await Promise.all(
      ['first', 'again'].map((name) => client.wait(({ ref }) => ref === name)),
    )
    t.same(again?.ok, first?.ok, 'a key is answered again')
  },
)

t.test('what is wrong with a frame is said with a pointer, and the socket goes on', async (t) => {
  await using app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 's')
  const wrong: [unknown, string, string?][] = [
    ['{"op":', 'invalid_json'],
    ['[]', 'invalid_body', ''],
    [{ op: 'shout' }, 'invalid_body', '/op'],
    [{ op: 'subscribe', sub: 'a', sessionId: 's', more: 1 }, 'invalid_body', '/more'],
    [{ op: 'subscribe', sub: 'a', sessionId: 's p a c e' }, 'invalid_id', '/sessionId'],
    [{ op: 'subscribe', sub: 'a', sessionId: 'none' }, 'session_not_found'],
    [{ op: 'subscribe', sub: 'a', all: true, after: 'x' }, 'invalid_cursor'],
    [{ op: 'subscribe', sub: 'a', all: true, types: ['no.such'] }, 'unknown_type', '/types'],
    [{ op: 'unsubscribe', sub: 'a' }, 'wrong_state'],
    [{ op: 'append', ref: 'r', sessionId: 's', events: [] }, 'invalid_body', '/events'],
    [
      { op: 'append', ref: 'r', sessionId: 's', events: [{ type: 'session.renamed', data: {} }] },
      'invalid_body',
      '/events/0/data/title',
    ],
    [{ op: 'append', ref: 'r', sessionId: 'none', events: [rename('x')] }, 'session_not_found'],
    [
      { op: 'append', ref: 'r', sessionId: 's', events: [rename('x')], turnId: 'trn_1' },
      'invalid_body',
      '/fence',
    ],
    [{ op: 'live', sessionId: 's', messageId: 'm', partId: 'p', kind: 'x' }, 'invalid_body'],
  ]
  for (const [frame, code, pointer] of wrong) {
    const before = client.frames.length
    client.send(frame)
    await client.wait((answer) => client.frames.indexOf(answer) >= before)
    const { error } = client.frames[before]!
    t.equal(error?.code, code, JSON.stringify(frame))
    if (pointer !== undefined) t.equal(error?.errors?.[0]?.pointer, pointer)
  }
  client.send({ op: 'subscribe', sub: 'a', sessionId: 's' })
  await client.wait(({ caughtUp }) => caughtUp?.seq === 1)
  client.send({ op: 'subscribe', sub: 'a', sessionId: 's' })
  await client.wait(({ error }) => error?.code === 'duplicate_id')
  client.socket.send(Buffer.from('x'), { binary: true })
  t.equal((await client.closed).code, 1003)
  t.same(app.reported, [])
})

t.test(
  'a socket takes so many subscriptions and no more, and a server so many sockets',
  async (t) => {
    const settings = { ...readSettings({}), maxSubscriptions: 3, maxSockets: 1 }
    await using app = await openTestApp({ settings })
    const origin = await listening(app)
    await create(app, 's')
    using client = await openSocket(origin)
    for (const sub of ['a', 'b', 'c', 'd']) client.send({ op: 'subscribe', sub, sessionId: 's' })
    t.match(await client.wait(({ error }) => error !== undefined), {
      sub: 'd',
      error: { code: 'too_many', status: 429 },
    })
    await t.rejects(openSocket(origin), /503/)
    client.socket.close()
    await client.closed
    for (let tries = 0; ; tries += 1) {
      const again = await openSocket(origin).catch(() => undefined)
      again?.[Symbol.dispose]()
      if (again || tries > 50) return t.ok(again, 'the place is free again')
      await sleep(20)
    }
  },
)

t.test('who asks without an upgrade, or for another subprotocol, is told so', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  t.match(await app.call('GET', '/v1/stream'), {
    status: 426,
    body: { code: 'upgrade_required' },
  })
  t.equal((await app.call('POST', '/v1/stream')).status, 405)
  await t.rejects(openSocket(origin, { protocols: ['graphql-ws'] }), /400/)
  await t.rejects(openSocket(origin, { headers: { origin: 'https://elsewhere.example' } }), /403/)
  await t.rejects(openSocket(origin, { path: '/v1/nothing' }), /404/)
  using bare = await openSocket(origin, { protocols: [] })
  bare.send({ op: 'ping' })
  t.ok(await bare.wait(({ pong }) => pong === true), 'none is as good as ours')
})

t.test(
  'a deleted session ends its subscriptions after its last event, and restored it goes on',
  async (t) => {
    await using app = await openTestApp()
    using client = await openSocket(await listening(app))
    await create(app, 's')
    client.send({ op: 'subscribe', sub: 'a', sessionId: 's' })
    await client.wait(({ caughtUp }) => caughtUp !== undefined)
    await app.call('DELETE', '/v1/sessions/s')
    const { ended } = await client.wait((frame) => frame.ended !== undefined)
    t.same(ended, { reason: 'deleted', afterSeq: 2 })
    t.same(seqs(client.frames, 'a'), [1, 2])
    client.send({ op: 'subscribe', sub: 'b', sessionId: 's', afterSeq: 1 })
    t.match(await client.wait(({ sub }) => sub === 'b'), { ended: { reason: 'deleted' } })
    await app.call('POST', '/v1/sessions/s/restore')
    client.send({ op: 'subscribe', sub: 'c', sessionId: 's', afterSeq: 2 })
    await client.wait(({ sub, caughtUp }) => sub === 'c' && caughtUp?.seq === 3)
    t.same(seqs(client.frames, 'c'), [3])
    client.send({ op: 'subscribe', sub: 'd', sessionId: 's' })
    await client.wait(({ sub, caughtUp }) => sub === 'd' && caughtUp?.seq === 3)
    t.same(seqs(client.frames, 'd'), [1, 2, 3], 'also for who comes from before the deletion')
  },
)

t.test('a seq that the log has not reached, or of another log, is reset', async (t) => {
  await using app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 's')
  client.send({ op: 'subscribe', sub: 'a', sessionId: 's', afterSeq: 9 })
  t.match(await client.wait(({ sub }) => sub === 'a'), {
    reset: { reason: 'ahead', oldestSeq: 1 },
  })
  client.send({ op: 'subscribe', sub: 'b', sessionId: 's', afterSeq: 1, log: 'another' })
  t.match(await client.wait(({ sub }) => sub === 'b'), { reset: { reason: 'other_log' } })
  client.send({ op: 'subscribe', sub: 'c', sessionId: 's', afterSeq: 1 })
  const { caughtUp } = await client.wait(({ sub, caughtUp: at }) => sub === 'c' && !!at)
  client.send({ op: 'subscribe', sub: 'd', sessionId: 's', afterSeq: 1, log: caughtUp!.log })
  t.ok(await client.wait(({ sub, caughtUp: at }) => sub === 'd' && at?.seq === 1))
})

t.test('all sessions on one subscription: in one order, filtered, resumed by cursor', async (t) => {
  await using app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 's1')
  await create(app, 's2')
  await append(app, 's1', 'a')
  client.send({ op: 'subscribe', sub: 'all', all: true })
  await client.wait(({ caughtUp }) => caughtUp !== undefined)
  await append(app, 's2', 'b')
  await client.wait(({ event }) => event?.sessionId === 's2' && event.seq === 2)
  const events = client.frames.filter(({ event }) => event)
  t.same(
    events.map(({ event }) => [event!.sessionId, event!.seq]),
    [
      ['s1', 1],
      ['s2', 1],
      ['s1', 2],
      ['s2', 2],
    ],
  )
  client.send({ op: 'subscribe', sub: 'rest', all: true, after: events[1]!.cursor })
  await client.wait(({ sub, caughtUp }) => sub === 'rest' && caughtUp !== undefined)
  t.same(seqs(client.frames, 'rest'), [2, 2])
  const types = ['session.created']
  client.send({ op: 'subscribe', sub: 'new', all: true, types })
  await client.wait(({ sub, caughtUp }) => sub === 'new' && caughtUp !== undefined)
  t.same(seqs(client.frames, 'new'), [1, 1])
  const page = await app.call('GET', `/v1/events?after=${events[1]!.cursor}`)
  t.equal((page.body as { data: unknown[] }).data.length, 2, 'cursors are those of the route')
})

t.test('a server that stops tells each client where it was, and closes', async (t) => {
  const app = await openTestApp()
  using client = await openSocket(await listening(app))
  await create(app, 's')
  await append(app, 's', 'a', 'b')
  client.send({ op: 'subscribe', sub: 'x', sessionId: 's' })
  client.send({ op: 'subscribe', sub: 'all', all: true })
  await client.wait(({ sub, caughtUp }) => sub === 'all' && caughtUp !== undefined)
  await client.wait(({ sub, caughtUp }) => sub === 'x' && caughtUp !== undefined)
  await app[Symbol.asyncDispose]()
  t.equal((await client.closed).code, 1001)
  t.match(client.frames.at(-1), {
    goingAway: {
      subs: [
        { sub: 'x', afterSeq: 3 },
        { sub: 'all', cursor: String },
      ],
    },
  })
})

t.test('a page opens a socket with a ticket, once, and a wrong one opens none', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  const { body } = await app.call('POST', '/v1/tickets')
  const { ticket } = (body as { data: { ticket: string } }).data
  const open = (value: string, page: string) =>
    openSocket(origin, {
      protocols: ['stemma.v1', `ticket.${value}`],
      headers: { origin: page },
    })
  await t.rejects(open(ticket, 'https://elsewhere.example'), /403/)
  using client = await open(ticket, 'http://localhost:5173')
  t.equal(client.socket.protocol, 'stemma.v1')
  client.send({ op: 'ping' })
  await client.wait(({ pong }) => pong === true)
  await t.rejects(open(ticket, 'http://localhost:5173'), /401/)
  await t.rejects(open('x', 'http://localhost:5173'), /401/)
})

t.test('an open socket holds nothing of the request that it came from', async (t) => {
  await using app = await openTestApp()
  const responses: ServerResponse[] = []
  app.app.addHook('preHandler', async (_request, reply) => void responses.push(reply.raw))
  using client = await openSocket(await listening(app))
  client.send({ op: 'ping' })
  await client.wait(({ pong }) => pong === true)
  t.equal(responses.length, 1)
  t.equal(responses[0]!.socket, null, 'the response does not wait on the connection')
  const [socket] = app.app.websocketServer.clients
  t.equal(socket!.listenerCount('error'), 1, 'one listener for errors, which is ours')
  t.same(app.reported, [])
})
