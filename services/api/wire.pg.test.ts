import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

const listen = async ({ app }: TestApp): Promise<{ url: string; port: number }> => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { url: app.listeningOrigin, port: Number(new URL(app.listeningOrigin).port) }
}

/** Sends bytes on a socket of its own and gives all that came back until it was closed. */
const exchange = (port: number, bytes: string, options: { cut?: boolean } = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes)
      if (options.cut) setTimeout(() => socket.destroy(), 50)
    })
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
    socket.setTimeout(10_000, () => reject(new Error('no end')))
  })

const problemIn = (received: string): { code?: string } =>
  JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4)) as { code?: string }

t.test(
  'a body that is too large is answered with 413 while it is still on its way, and its sender sees it',
  async (t) => {
    await using api = await openTestApp()
    const { url } = await listen(api)
    const block = Buffer.alloc(1024 * 1024, 'x')
    const chunked = () =>
      new ReadableStream({
        start: async (controller) => {
          for (let n = 0; n < 24; n += 1) controller.enqueue(block)
          controller.close()
        },
      })
    for (const [name, body] of [
      ['with its length', Buffer.concat(Array.from({ length: 24 }, () => block))],
      ['in chunks', chunked()],
    ] as const) {
      const reply = await fetch(`${url}/v1/sessions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        duplex: 'half',
      })
      const problem = (await reply.json()) as { code: string; detail: string }
      t.match([reply.status, problem.code], [413, 'too_large'], name)
      t.match(problem.detail, 'PUT /v1/blobs')
    }
    t.equal((await fetch(`${url}/livez`)).status, 200)
    t.same(api.reported, [])
  },
)

t.test('what is not HTTP is answered with a problem, and the connection is closed', async (t) => {
  await using api = await openTestApp()
  const { port } = await listen(api)
  for (const bytes of [
    'hello\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n',
    `GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    `GET /v1/sessions/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ]) {
    const received = await exchange(port, bytes)
    t.match(received, /^HTTP\/1\.1 400 /, bytes.slice(0, 30))
    t.equal(problemIn(received).code, 'invalid_header')
  }
})

t.test(
  'a path that cannot be decoded is a problem of the request, whatever its form',
  async (t) => {
    await using api = await openTestApp()
    const { port } = await listen(api)
    for (const path of [
      '/v1/sessions/%',
      '/%',
      '/v1/sessions/%c0%af/events',
      '/v1/sessions/s?a=%',
    ]) {
      const received = await exchange(
        port,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      )
      t.match(received, /^HTTP\/1\.1 4\d\d /, path)
      t.match(received, /application\/problem\+json/)
    }
  },
)

t.test('a body whose sender goes away in the middle leaves nothing behind', async (t) => {
  await using api = await openTestApp()
  const { port, url } = await listen(api)
  const head = 'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  await exchange(port, `${head}Content-Length: 100\r\n\r\n{"title":"x"`, { cut: true })
  await exchange(port, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"tit`, { cut: true })
  await sleep(100)
  t.same(await (await fetch(`${url}/v1/sessions`)).json(), {
    data: [],
    cursor: { next: null, previous: null },
  })
  t.same(api.reported, [])
})

t.test('who goes away while waiting for a turn is not waited for', async (t) => {
  await using api = await openTestApp()
  const { url } = await listen(api)
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  await api.call('POST', '/v1/sessions/s/turns', { turnId: 't', ownerId: 'o', incarnation: 1 })
  const leaving = new AbortController()
  const reply = fetch(`${url}/v1/sessions/s/turns/t?waitMs=30000`, { signal: leaving.signal })
  await sleep(200)
  leaving.abort()
  await t.rejects(reply)
  const began = Date.now()
  await api.app.close()
  t.ok(Date.now() - began < 5_000, 'the app closes at once')
  t.same(api.reported, [])
})
