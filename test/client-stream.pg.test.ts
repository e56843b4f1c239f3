import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTranscript } from '../client/open-transcript.ts'
import type { TranscriptPage } from '../client/transcript-page.ts'
import type { Envelope } from '../schema/events/envelope.ts'
import { randomSession } from './harness/random-session.ts'
import { seeded } from './harness/seeded.ts'
import { openSocket, type Frame } from './harness/socket-client.ts'
import { openTestApp } from './harness/test-app.ts'

t.test(
  'page + events = page: a transcript that follows its session by a socket, cut at random, is the server’s page in the end',
  async (t) => {
    await using app = await openTestApp()
    const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
    const seed = Date.now() % 100_000
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const acts = randomSession(random, 6).acts
    for (const act of acts.slice(0, 8)) {
      await app.log.execute({ tenant: 1, sessionId: 's', ...act })
    }
    const page = async (): Promise<TranscriptPage & { asOfSeq: number }> =>
      (await app.call('GET', '/v1/sessions/s/messages?limit=500')).body
    const transcript = openTranscript(await page())
    let done = false
    const following = (async () => {
      while (!done) {
        const client = await openSocket(origin, {
          onFrame: ({ event }: Frame) => event && transcript.apply(event as unknown as Envelope),
        })
        const afterSeq = transcript.asOfSeq
        client.send({ op: 'subscribe', sub: 'x', sessionId: 's', afterSeq })
        for (const until = Date.now() + 150 * random(); Date.now() < until && !done;) {
          await sleep(5)
        }
        client[Symbol.dispose]()
        await client.closed
      }
    })()
    for (const act of acts.slice(8)) {
      await app.log.execute({ tenant: 1, sessionId: 's', ...act })
      await sleep(4)
    }
    const last = await page()
    for (let tries = 0; tries < 1_000 && transcript.asOfSeq < last.asOfSeq; tries += 1) {
      await sleep(10)
    }
    done = true
    await following
    t.equal(transcript.asOfSeq, last.asOfSeq)
    t.same(transcript.messages, last.data)
  },
)

t.test('what is live of a part is beside its message, until the event has the whole', async (t) => {
  await using app = await openTestApp()
  const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
  await app.call('POST', '/v1/sessions', { sessionId: 's' })
  await app.call('POST', '/v1/sessions/s/turns', { turnId: 'trn_1', ownerId: 'me', incarnation: 1 })
  const held = { turnId: 'trn_1', fence: 1 }
  const write = (...events: unknown[]) =>
    app.call('POST', '/v1/sessions/s/events', { ...held, events })
  const model = { modelId: 'm', providerId: 'p' }
  await write(
    { type: 'step.started', data: { messageId: 'm', attempt: 1, agent: 'me', model } },
    { type: 'text.started', data: { messageId: 'm', partId: 'p' } },
  )
  const { body } = await app.call('GET', '/v1/sessions/s/messages')
  const transcript = openTranscript(body)
  using client = await openSocket(origin, {
    onFrame: ({ event, live }: Frame) => {
      if (event) transcript.apply(event as unknown as Envelope)
      if (live) transcript.applyLive(live as never)
    },
  })
  client.send({ op: 'subscribe', sub: 'x', sessionId: 's', afterSeq: transcript.asOfSeq })
  await client.wait(({ caughtUp }) => caughtUp !== undefined)
  const part = { ...held, messageId: 'm', partId: 'p', kind: 'text' }
  await app.call('POST', '/v1/sessions/s/live', {
    frames: [
      { ...part, offset: 0, delta: 'Hel' },
      { ...part, offset: 3, delta: 'lo' },
    ],
  })
  await client.wait(({ live }) => live?.['offset'] === 3)
  t.match(transcript.live, [{ messageId: 'm', partId: 'p', text: 'Hello' }])
  await write({ type: 'text.ended', data: { messageId: 'm', partId: 'p', text: 'Hello!' } })
  await client.wait(({ event }) => event?.type === 'text.ended')
  t.same(transcript.live, [])
  t.match(transcript.messages, [{ parts: [{ text: 'Hello!' }] }])
})
