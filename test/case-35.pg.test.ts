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
