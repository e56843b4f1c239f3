import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSocket, type Frame } from '../../test/harness/socket-client.ts'
import { openSse } from '../../test/harness/sse-client.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

const listening = async (app: TestApp): Promise<string> =>
  app.app.listen({ host: '127.0.0.1', port: 0 })

/** A session in whose turn a text has begun. */
const begin = async (app: TestApp): Promise<void> => {
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  await app.call('POST', '/v1/sessions/s/turns', { turnId: 'trn_1', ownerId: 'me', incarnation: 1 })
  const model = { modelId: 'm', providerId: 'p' }
  const { status } = await write(app, [
    { type: 'step.started', data: { messageId: 'msg_1', attempt: 1, agent: 'me', model } },
    { type: 'text.started', data: { messageId: 'msg_1', partId: 'p' } },
  ])
  if (status !== 200) throw new Error('the turn did not begin')
}
const held = { turnId: 'trn_1', fence: 1 }
const write = (app: TestApp, events: unknown[]) =>
  app.call('POST', '/v1/sessions/s/events', { ...held, events })
const part = { ...held, messageId: 'msg_1', partId: 'p', kind: 'text' }
const liveOf = (frames: readonly Frame[]): string =>
  frames.reduce((text, { live }) => {
    const { replace, delta } = (live ?? {}) as { replace?: string; delta?: string }
    return replace ?? text + (delta ?? '')
  }, '')

t.test(
  'deltas reach who subscribed, and who comes in the middle gets what was said so far',
  async (t) => {
    await using app = await openTestApp()
    const origin = await listening(app)
    await begin(app)
    using host = await openSocket(origin)
    using early = await openSocket(origin)
    early.send({ op: 'subscribe', sub: 'e', sessionId: 's' })
    await early.wait(({ caughtUp }) => caughtUp !== undefined)
    const say = (offset: number, delta: string) =>
      host.send({ op: 'live', sessionId: 's', ...part, offset, delta })
    say(0, 'Hel')
    say(3, 'lo ')
    await early.wait(() => liveOf(early.frames) === 'Hello ')
    using late = await openSocket(origin)
    late.send({ op: 'subscribe', sub: 'l', sessionId: 's', afterSeq: 1 })
    await late.wait(() => liveOf(late.frames) === 'Hello ')
    using sse = await openSse(`${origin}/v1/sessions/s/events`)
    await sse.wait(({ event, data }) => {
      return event === 'live' && (data as { replace?: string }).replace === 'Hello '
    })
    say(6, 'world')
    for (const client of [early, late])
      await client.wait(() => liveOf(client.frames) === 'Hello world')
    t.equal(liveOf(early.frames), 'Hello world')
    await write(app, [
      { type: 'text.ended', data: { messageId: 'msg_1', partId: 'p', text: 'Hello world' } },
    ])
    using after = await openSocket(origin)
    after.send({ op: 'subscribe', sub: 'a', sessionId: 's', afterSeq: 0 })
    await after.wait(({ caughtUp }) => caughtUp !== undefined)
    await sleep(100)
    t.equal(after.frames.filter(({ live }) => live).length, 0, 'an ended part is not said any more')
  },
)

t.test('a gap is said to subscribers and to the sender, and a replace mends it', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  await begin(app)
  using reader = await openSocket(origin)
  reader.send({ op: 'subscribe', sub: 'r', sessionId: 's' })
  await reader.wait(({ caughtUp }) => caughtUp !== undefined)
  const say = async (...frames: unknown[]) =>
    (await app.call('POST', '/v1/sessions/s/live', { frames })).body as unknown
  t.match(await say({ ...part, offset: 0, delta: 'ab' }, { ...part, offset: 4, delta: 'ef' }), {
    data: { resync: [{ messageId: 'msg_1', partId: 'p' }] },
  })
  t.match(await reader.wait(({ live }) => live?.['resync'] === true), {
    live: { messageId: 'msg_1', partId: 'p' },
  })
  t.match(await say({ ...part, replace: 'abcdef' }), { data: { resync: [] } })
  await reader.wait(() => liveOf(reader.frames) === 'abcdef')
})

t.test('frames of a fenced owner, or of none, are dropped and refused', async (t) => {
  await using app = await openTestApp()
  const origin = await listening(app)
  await begin(app)
  using reader = await openSocket(origin)
  reader.send({ op: 'subscribe', sub: 'r', sessionId: 's' })
  await reader.wait(({ caughtUp }) => caughtUp !== undefined)
  const say = async (frame: unknown, sessionId = 's') =>
    (await app.call('POST', `/v1/sessions/${sessionId}/live`, { frames: [frame] })).body as {
      code?: string
    }
  const { turnId: _turn, fence: _fence, ...bare } = part
  t.equal((await say({ ...bare, offset: 0, delta: 'x' })).code, 'fence_required')
  t.equal((await say({ ...part, fence: 0, offset: 0, delta: 'x' })).code, 'fenced')
  t.equal(
    (await say({ ...part, turnId: 'trn_9', fence: 9, offset: 0, delta: 'x' })).code,
    'no_turn',
  )
  t.equal((await say({ ...part, offset: 0, delta: 'x' }, 'none')).code, 'session_not_found')
  await write(app, [
    { type: 'turn.ended', data: { turnId: 'trn_1', outcome: 'completed', fence: 1 } },
  ])
  await app.call('POST', '/v1/sessions/s/turns', {
    turnId: 'trn_2',
    ownerId: 'other',
    incarnation: 1,
  })
  t.equal((await say({ ...part, offset: 0, delta: 'x' })).code, 'fenced')
  t.equal(
    (await say({ ...part, turnId: 'trn_2', fence: 2, offset: 0, delta: 'ok' })).code,
    undefined,
  )
  await reader.wait(() => liveOf(reader.frames) === 'ok')
  t.equal(liveOf(reader.frames), 'ok', 'nothing else was passed on')
})

t.test('a part that the store ends keeps what it has said, as partial', async (t) => {
  await using app = await openTestApp()
  await begin(app)
  await app.call('POST', '/v1/sessions/s/live', {
    frames: [{ ...part, offset: 0, delta: 'so far' }],
  })
  await write(app, [
    { type: 'turn.ended', data: { turnId: 'trn_1', outcome: 'interrupted', fence: 1 } },
  ])
  const { body } = await app.call('GET', '/v1/sessions/s/messages')
  t.match(body, {
    data: [{ parts: [{ type: 'text', text: 'so far', partial: true }] }],
  })
})
