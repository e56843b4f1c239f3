import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestDatabase } from './harness/database.ts'
import { startFollowing } from './harness/following-host.ts'
import { event } from './harness/rehearsal.ts'
import { openTestApp, type TestApp } from './harness/test-app.ts'

type Event = { type: string; data: Record<string, unknown> }

/** The service, with a person who answers what is asked as soon as it is asked. */
const openService = async (
  options: Parameters<typeof openTestApp>[0] & { readonly port?: number } = {},
) => {
  const { port = 0, ...more } = options
  const api = await openTestApp(more)
  await api.app.listen({ host: '127.0.0.1', port })
  const { call } = api
  const answer = async (): Promise<void> => {
    const { data } = (await call('GET', '/v1/requests?status=open')).body as {
      data: { sessionId: string; requestId: string }[]
    }
    for (const { sessionId, requestId } of data) {
      const path = `/v1/sessions/${sessionId}/requests/${requestId}/answer`
      await call('POST', path, { answers: [['Ada']] })
    }
  }
  const closing = new AbortController()
  const answering = (async () => {
    for (; !closing.signal.aborted; await sleep(100)) await answer()
  })()
  return {
    ...api,
    session: (sessionId: string, project?: string) =>
      call('POST', '/v1/sessions', { sessionId, ...(project !== undefined && { project }) }),
    input: (sessionId: string, messageId: string, more = {}) =>
      call('POST', `/v1/sessions/${sessionId}/inputs`, { messageId, text: 'x', ...more }),
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await answering
      await api[Symbol.asyncDispose]()
    },
  }
}

/** Starts and ends of turns in a session, with what each start takes up. */
const turnsOf = async ({ call }: TestApp, sessionId: string) => {
  const events = (
    (await call('GET', `/v1/sessions/${sessionId}/events?limit=500`)).body as {
      data: Event[]
    }
  ).data
  return events.flatMap(({ type, data }): unknown[] => {
    if (type === 'turn.started') return [[data['inputs'], data['resumes']]]
    return type === 'turn.claimed' || type === 'turn.ended' ? [type] : []
  })
}

t.test(
  'a host takes up the work of all sessions of its project, all that waits in a session in one turn, and then what becomes work',
  async (t) => {
    await using service = await openService()
    const { session, input } = service
    for (const id of ['s', 'r']) await session(id, 'p')
    await session('other', 'q')
    await input('s', 'msg_1')
    await input('s', 'msg_2')
    await input('s', 'msg_sh', { kind: 'shell' })
    await input('r', 'msg_r')
    await input('other', 'msg_other')
    const origin = { system: 'elsewhere', sessionId: 'a' }
    const questions = [{ question: '?', options: [] }]
    await service.call('POST', '/v1/imports', {
      origin,
      sessionId: 'a',
      events: [
        event('session.created', { origin, project: 'p' }),
        event('request.opened', { requestId: 'req_a', kind: 'question', questions }),
      ],
    })
    await using host = await startFollowing(service, { project: 'p' })
    await host.said(/ended turn/, 3)
    t.same(await turnsOf(service, 's'), [[['msg_1', 'msg_2'], []], 'turn.ended'])
    t.same(await turnsOf(service, 'r'), [[['msg_r'], []], 'turn.ended'])
    t.same(await turnsOf(service, 'a'), [[[], ['req_a']], 'turn.ended'])
    await session('later', 'p')
    await input('later', 'msg_later')
    await host.said(/ended turn/, 4)
    t.same(await turnsOf(service, 'later'), [[['msg_later'], []], 'turn.ended'])
    await sleep(300)
    t.equal(
      host.times(/sessions\/s\/inputs/),
      4,
      'three were offered, and again, when the turn had ended, the one that is not for it',
    )
    t.same(await turnsOf(service, 'other'), [])
    t.same(service.reported, [])
  },
)

t.test(
  'an offer that is refused because the owner is back is taken up when its lease has lapsed again',
  async (t) => {
    await using service = await openService()
    const { session, input, call } = service
    await session('s')
    await input('s', 'msg_1')
    const owner = { ownerId: 'slow', incarnation: 1 }
    await call('POST', '/v1/owners', {
      ...owner,
      incarnation: undefined,
      lifetime: 'lease',
      ttlMs: 700,
    })
    await call('POST', '/v1/sessions/s/turns', { turnId: 'trn_1', ...owner, inputs: ['msg_1'] })
    let claims = 0
    await using host = await startFollowing(service, {
      before: async (what) => {
        if (!what.endsWith('/claim') || (claims += 1) > 2) return
        await call('PUT', '/v1/owners/slow/heartbeat', { incarnation: 1 })
      },
    })
    await host.said(/ended turn trn_1/)
    t.equal(claims, 3, 'each time that it lapses it is offered once')
    t.same(await turnsOf(service, 's'), [[['msg_1'], undefined], 'turn.claimed', 'turn.ended'])
  },
)

t.test(
  'what is cancelled or deleted between the offer and the start holds up nothing else',
  async (t) => {
    await using service = await openService()
    const { session, input, call } = service
    for (const id of ['gone', 's']) await session(id)
    await input('gone', 'msg_gone')
    await input('s', 'msg_1')
    const between = new Map([
      ['GET /sessions/gone/inputs', () => call('DELETE', '/v1/sessions/gone')],
      ['GET /sessions/s/inputs', () => input('s', 'msg_2')],
      ['POST /sessions/s/turns', () => call('DELETE', '/v1/sessions/s/inputs/msg_2')],
    ])
    await using host = await startFollowing(service, {
      before: async (what) => {
        const act = between.get(what)
        between.delete(what)
        await act?.()
      },
    })
    await host.said(/ended turn/)
    t.equal(between.size, 0)
    t.same(await turnsOf(service, 's'), [[['msg_1'], []], 'turn.ended'])
  },
)

t.test('a host that waits for work leaves when it is told to, and not later', async (t) => {
  await using service = await openService()
  await using host = await startFollowing(service)
  while (host.times(/GET \/work\?.*after=/) === 0) await sleep(20)
  await sleep(100)
  await host.leave()
  t.equal(host.times(/GET \/work\?.*after=/), 1, 'the answer was not waited for')
  t.match((await service.call('GET', '/v1/owners/host')).body, { data: { status: 'exited' } })
})

t.test(
  'a service that is restarted is waited for, and following goes on where it was',
  async (t) => {
    await using database = await openTestDatabase()
    const first = await openService({ database })
    for (const id of ['s', 'r']) await first.session(id)
    await first.input('s', 'msg_sh', { kind: 'shell' })
    await using host = await startFollowing(first)
    while (host.times(/GET \/work\?.*after=/) === 0) await sleep(20)
    const port = Number(new URL(first.app.listeningOrigin).port)
    await first[Symbol.asyncDispose]()
    await sleep(300)
    await using second = await openService({ database, port })
    await second.input('r', 'msg_1')
    await host.said(/ended turn/)
    t.equal(host.times(/sessions\/s\/inputs/), 1, 'nothing was offered anew')
    // It says good-bye to the service that it knows.
    await host.leave()
  },
)
