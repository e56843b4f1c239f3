import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSocket, type Frame } from '../../../test/harness/socket-client.ts'
import { openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import { readSettings } from '../../settings.ts'

const mebibyte = 1024 * 1024

const unsentOf = async (app: TestApp): Promise<number> =>
  Number(/stemma_stream_unsent_bytes (\d+)/.exec((await app.call('GET', '/metrics')).text)![1])

const write = async (app: TestApp, sessionId: string, events: number): Promise<void> => {
  for (let n = 0; n < events; n += 10) {
    const batch = Array.from({ length: 10 }, () => ({
      type: 'session.renamed',
      data: { title: 'x'.repeat(32 * 1024) },
    }))
    await app.call('POST', `/v1/sessions/${sessionId}/events`, { events: batch })
  }
}

const reader = async (origin: string) => {
  const seqs: number[] = []
  const client = await openSocket(origin, {
    onFrame: ({ event }: Frame) => event && seqs.push(event.seq),
  })
  return { client, seqs }
}

t.test(
  'case 37: a reader that stops reading is not read for: memory is bounded, nobody else waits, and it loses nothing',
  async (t) => {
    await using app = await openTestApp()
    const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
    await app.call('POST', '/v1/sessions', { sessionId: 's' })
    const slow = await reader(origin)
    const fast = await reader(origin)
    for (const { client } of [slow, fast]) {
      client.send({ op: 'subscribe', sub: 'x', sessionId: 's' })
      await client.wait(({ caughtUp }) => caughtUp !== undefined)
    }
    slow.client.socket.pause()
    let most = 0
    for (let round = 0; round < 8; round += 1) {
      await write(app, 's', 100)
      most = Math.max(most, await unsentOf(app))
    }
    for (let tries = 0; tries < 500 && fast.seqs.length < 801; tries += 1) await sleep(20)
    t.equal(fast.seqs.length, 801, 'the other has all while it waits')
    t.ok(slow.seqs.length < 700, `the slow one has ${slow.seqs.length}`)
    most = Math.max(most, await unsentOf(app))
    t.ok(most > 0 && most < 4 * mebibyte, `${most} bytes of 26 MB waited`)
    slow.client.socket.resume()
    for (let tries = 0; tries < 500 && slow.seqs.length < 801; tries += 1) await sleep(20)
    t.same(
      slow.seqs,
      Array.from({ length: 801 }, (_, n) => n + 1),
    )
    for (const { client } of [slow, fast]) client[Symbol.dispose]()
  },
)

t.test(
  'a reader that takes nothing for too long is closed with 4408, and resumes from its own last seq',
  async (t) => {
    const settings = { ...readSettings({}), drainTimeoutMs: 1_000 }
    await using app = await openTestApp({ settings })
    const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
    await app.call('POST', '/v1/sessions', { sessionId: 's' })
    await write(app, 's', 300)
    const { client, seqs } = await reader(origin)
    client.send({ op: 'subscribe', sub: 'x', sessionId: 's' })
    client.socket.pause()
    for (let tries = 0; tries < 500 && (await unsentOf(app)) < mebibyte; tries += 1) await sleep(20)
    for (let tries = 0; tries < 500 && (await unsentOf(app)) > 0; tries += 1) await sleep(20)
    t.equal(await unsentOf(app), 0, 'what waited for it is let go')
    client.socket.resume()
    const { code } = await client.closed
    t.ok(code === 4408 || code === 1006, `${code}: the close frame may not have reached it`)
    const again = await reader(origin)
    again.client.send({ op: 'subscribe', sub: 'x', sessionId: 's', afterSeq: seqs.at(-1) ?? 0 })
    await again.client.wait(({ caughtUp }) => caughtUp?.seq === 301)
    t.same(
      [...seqs, ...again.seqs],
      Array.from({ length: 301 }, (_, n) => n + 1),
    )
    again.client[Symbol.dispose]()
  },
)

t.test('answers come while history is being read', async (t) => {
  await using app = await openTestApp()
  const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  await app.call('POST', '/v1/sessions', { sessionId: 'other' })
  await write(app, 's', 600)
  using client = await openSocket(origin)
  for (const sub of ['a', 'b', 'c']) client.send({ op: 'subscribe', sub, sessionId: 's' })
  await client.wait(({ event }) => event !== undefined)
  client.send({
    op: 'append',
    ref: 'r',
    sessionId: 'other',
    events: [{ type: 'session.viewed', data: {} }],
  })
  await client.wait(({ ref }) => ref === 'r')
  t.notOk(
    ['a', 'b', 'c'].every((name) =>
      client.frames.some(({ sub, caughtUp }) => sub === name && caughtUp),
    ),
    'before the history was given',
  )
})

t.test('answers that are not taken are bounded, too: then nothing more is read', async (t) => {
  await using app = await openTestApp()
  const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
  using client = await openSocket(origin, { onFrame: () => {} })
  client.socket.pause()
  for (let n = 0; n < 60_000; n += 1) client.send('{"op":"x"}')
  let most = 0
  for (let tries = 0; tries < 100; tries += 1) {
    most = Math.max(most, await unsentOf(app))
    await sleep(20)
  }
  t.ok(most > mebibyte && most < 6 * mebibyte, `${most} bytes of answers waited`)
  client.socket.resume()
  const begins = Date.now()
  client.send({ op: 'ping' })
  await client.wait(({ pong }) => pong === true)
  t.ok(Date.now() - begins < 15_000, 'and it is read again as soon as they are taken')
})

t.test('pages of large events are small, however well they are compressed', async (t) => {
  await using app = await openTestApp()
  const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  for (let n = 0; n < 30; n += 1) {
    await app.call('POST', '/v1/sessions/s/events', {
      events: [{ type: 'session.renamed', data: { title: 'x'.repeat(1_000_000) } }],
    })
  }
  const { client, seqs } = await reader(origin)
  client.socket.pause()
  client.send({ op: 'subscribe', sub: 'x', sessionId: 's' })
  await sleep(1_500)
  t.ok((await unsentOf(app)) < 4 * mebibyte, `${await unsentOf(app)} bytes wait`)
  client.socket.resume()
  await client.wait(({ caughtUp }) => caughtUp?.seq === 31)
  t.equal(seqs.length, 31)
  client[Symbol.dispose]()
})
