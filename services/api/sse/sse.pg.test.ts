import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSse } from '../../../test/harness/sse-client.ts'
import { openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import { readSettings } from '../../settings.ts'

const listening = async (app: TestApp): Promise<string> =>
  app.app.listen({ host: '127.0.0.1', port: 0 })
const append = (app: TestApp, sessionId: string, title: string) =>
  app.call('POST', `/v1/sessions/${sessionId}/events`, {
    events: [{ type: 'session.renamed', data: { title } }],
  })

t.test('server-sent events: the same as on a socket, with the seq as id', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  await append(app, 's', 'line\nbreak')
  using stream = await openSse(`${origin}/v1/sessions/s/events?afterSeq=0`)
  t.match(stream.headers.get('content-type'), /^text\/event-stream/)
  await stream.wait(({ event }) => event === 'caught-up')
  await append(app, 's', 'live')
  await stream.wait(({ id }) => id === '3')
  t.same(
    stream.events.map(({ event, id }) => [event, id]),
    [
      ['event', '1'],
      ['event', '2'],
      ['caught-up', '2'],
      ['event', '3'],
    ],
  )
  const page = await app.call('GET', '/v1/sessions/s/events')
  t.same(
    stream.events.flatMap(({ event, data }) => (event === 'event' ? [data] : [])),
    (page.body as { data: unknown[] }).data,
  )
  await app.call('DELETE', '/v1/sessions/s')
  t.match(await stream.wait(({ event }) => event === 'ended'), {
    data: { reason: 'deleted', afterSeq: 4 },
  })
  await stream.closed
  t.equal((await fetch(`${origin}/v1/sessions/s/events`, { headers: accept })).status, 410)
  t.equal((await fetch(`${origin}/v1/sessions/x/events`, { headers: accept })).status, 404)
})

const accept = { accept: 'text/event-stream' }

t.test('server-sent events: Last-Event-ID goes before the query, and is checked', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  for (const title of ['a', 'b', 'c']) await append(app, 's', title)
  using stream = await openSse(`${origin}/v1/sessions/s/events?afterSeq=1`, {
    'last-event-id': '3',
  })
  await stream.wait(({ event }) => event === 'caught-up')
  t.same(
    stream.events.map(({ id }) => id),
    ['4', '4'],
  )
  const faulty = await fetch(`${origin}/v1/sessions/s/events`, {
    headers: { ...accept, 'last-event-id': 'x' },
  })
  t.equal(faulty.status, 400)
  using ahead = await openSse(`${origin}/v1/sessions/s/events?afterSeq=99`)
  t.match(await ahead.wait(({ event }) => event === 'reset'), { data: { reason: 'ahead' } })
  await ahead.closed
})

t.test('server-sent events of all sessions: resumed by the cursor that is their id', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  await app.call('POST', '/v1/sessions', { sessionId: 's1' })
  await app.call('POST', '/v1/sessions', { sessionId: 's2' })
  using stream = await openSse(`${origin}/v1/events`)
  await stream.wait(({ event }) => event === 'caught-up')
  const first = stream.events[0]!
  using rest = await openSse(`${origin}/v1/events`, { 'last-event-id': first.id! })
  await rest.wait(({ event }) => event === 'caught-up')
  t.equal(rest.events.length, 2)
  await append(app, 's1', 'x')
  for (const one of [stream, rest]) {
    t.match(await one.wait(({ data }) => (data as { seq?: number }).seq === 2), {
      data: { sessionId: 's1' },
    })
  }
})

t.test('a server that stops ends its streams, and does not wait for them', async (t) => {
  const app = await openTestApp()
  const origin = await listening(app)
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  using stream = await openSse(`${origin}/v1/sessions/s/events`)
  await stream.wait(({ event }) => event === 'caught-up')
  const stopped = app[Symbol.asyncDispose]()
  const late = new AbortController()
  const over = await Promise.race([
    Promise.all([stopped, stream.closed]).then(() => 'ended'),
    sleep(15_000, 'it waits', { signal: late.signal }),
  ])
  late.abort()
  t.equal(over, 'ended')
})

t.test(
  'a server that stops does not wait for connections on which nothing was asked',
  async (t) => {
    const app = await openTestApp()
    const { port } = new URL(await listening(app))
    const silent = connect({ host: '127.0.0.1', port: Number(port) })
    await once(silent, 'connect')
    await app.call('GET', '/livez')
    const closed = once(silent, 'close')
    await app[Symbol.asyncDispose]()
    await closed
    t.pass('it closed')
  },
)

const gaugeOf = async (app: TestApp, name: string): Promise<number> =>
  Number(new RegExp(`${name} (\\d+)`).exec((await app.call('GET', '/metrics')).text)![1])

t.test('a client that leaves before its stream begins leaves nothing behind', async (t) => {
  await using app = await openTestApp()
  const { port } = new URL(await listening(app))
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  for (let n = 0; n < 20; n += 1) {
    const socket = connect({ host: '127.0.0.1', port: Number(port) })
    await once(socket, 'connect')
    socket.write(
      'GET /v1/sessions/s/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n',
    )
    await sleep(1)
    socket.resetAndDestroy()
  }
  for (let tries = 0; tries < 200 && (await gaugeOf(app, 'stemma_streams')) > 0; tries += 1) {
    await sleep(20)
  }
  t.equal(await gaugeOf(app, 'stemma_streams'), 0)
  t.equal(await gaugeOf(app, 'stemma_followed_sessions'), 0)
})

t.test('a stalled reader is cut off, whatever is said meanwhile to keep it alive', async (t) => {
  const settings = { ...readSettings({}), drainTimeoutMs: 1_500, heartbeatMs: 400 }
  await using app = await openTestApp({ settings })
  const { port } = new URL(await listening(app))
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  for (let n = 0; n < 30; n += 1) await append(app, 's', 'x'.repeat(500_000))
  const socket = connect({ host: '127.0.0.1', port: Number(port) })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(
    'GET /v1/sessions/s/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n',
  )
  for (let tries = 0; tries < 200 && (await gaugeOf(app, 'stemma_streams')) < 1; tries += 1) {
    await sleep(20)
  }
  for (let tries = 0; tries < 500 && (await gaugeOf(app, 'stemma_streams')) > 0; tries += 1) {
    await sleep(20)
  }
  t.equal(await gaugeOf(app, 'stemma_streams'), 0)
  socket.destroy()
})
