import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestDatabase } from './harness/database.ts'
import { openSocket } from './harness/socket-client.ts'
import { openTestApp } from './harness/test-app.ts'

t.test(
  'case 35: what happens between the listing and the subscription is not lost: both are of one moment, at whichever server',
  async (t) => {
    await using database = await openTestDatabase()
    await using a = await openTestApp({ database })
    await using b = await openTestApp({ database })
    const origin = await b.app.listen({ host: '127.0.0.1', port: 0 })
    await a.call('POST', '/v1/sessions', { sessionId: 's' })
    await a.call('POST', '/v1/sessions/s/turns', { turnId: 'trn_1', ownerId: 'me', incarnation: 1 })
    const open = (requestId: string) =>
      a.call('POST', '/v1/sessions/s/events', {
        turnId: 'trn_1',
        fence: 1,
        events: [
          {
            type: 'request.opened',
            data: { requestId, kind: 'question', questions: [{ question: '?', options: [] }] },
          },
        ],
      })
    for (let round = 0; round < 20; round += 1) {
      const listed = (await b.call('GET', '/v1/sessions/s')).body as {
        data: { headSeq: number; openRequests: readonly string[] }
      }
      const before = listed.data.openRequests
      // Before, while or after the subscription begins.
      const opening = open(`req_${round}`)
      if (round % 3 === 0) await opening
      using client = await openSocket(origin)
      client.send({ op: 'subscribe', sub: 's', sessionId: 's', afterSeq: listed.data.headSeq })
      await client.wait(({ event }) => event?.type === 'request.opened')
      await opening
      const heard = client.frames.flatMap(({ event }) =>
        event ? [(event.data as { requestId: string }).requestId] : [],
      )
      t.same(
        [...before, ...heard],
        Array.from({ length: round + 1 }, (_, n) => `req_${n}`),
      )
    }
  },
)

t.test(
  'case 35: a request that is opened between the listing and the subscription is not lost and not taken for cancelled, among all sessions',
  async (t) => {
    await using database = await openTestDatabase()
    await using a = await openTestApp({ database })
    await using b = await openTestApp({ database })
    const origin = await b.app.listen({ host: '127.0.0.1', port: 0 })
    const sessions = ['s', 'r']
    for (const sessionId of sessions) {
      await a.call('POST', '/v1/sessions', { sessionId })
      const turn = { turnId: 'trn_1', ownerId: 'me', incarnation: 1 }
      await a.call('POST', `/v1/sessions/${sessionId}/turns`, turn)
    }
    const append = (round: number) =>
      a.call('POST', `/v1/sessions/${sessions[round % 2]}/events`, {
        turnId: 'trn_1',
        fence: 1,
        events: [
          {
            type: 'request.opened',
            data: {
              requestId: `req_${round}`,
              kind: 'question',
              questions: [{ question: '?', options: [] }],
            },
          },
        ],
      })
    const close = (round: number) =>
      a.call('POST', `/v1/sessions/${sessions[round % 2]}/requests/req_${round}/close`, {
        reason: 'dismissed',
      })
    for (let round = 1; round <= 20; round += 1) {
      // While the listing is made, or after it.
      const opening = round % 3 === 0 ? append(round) : undefined
      const listed = (await b.call('GET', '/v1/requests?status=open')).body as {
        data: { requestId: string }[]
        asOf: string
      }
      const changing = Promise.all([opening ?? append(round), close(round - 1)])
      if (round % 4 === 0) await changing
      using client = await openSocket(origin)
      client.send({ op: 'subscribe', sub: 'all', all: true, after: listed.asOf })
      await changing
      /** What the listing said and what was heard since. */
      const openNow = (): string[] => {
        const open = new Set(listed.data.map(({ requestId }) => requestId))
        for (const { event } of client.frames) {
          if (!event) continue
          const { requestId } = event.data as { requestId: string }
          if (event.type === 'request.opened') open.add(requestId)
          if (event.type === 'request.closed') open.delete(requestId)
        }
        return [...open]
      }
      const expected = [`req_${round}`]
      for (let tries = 0; tries < 200 && openNow().join() !== expected.join(); tries += 1) {
        await sleep(25)
      }
      t.same(openNow(), expected)
    }
  },
)
