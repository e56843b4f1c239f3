import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

const started = async ({ call }: TestApp): Promise<void> => {
  await call('POST', '/v1/sessions', { sessionId: 's' })
  await call('POST', '/v1/sessions/s/inputs', { messageId: 'm', text: 'x' })
  await call('POST', '/v1/sessions/s/turns', {
    turnId: 't',
    ownerId: 'own',
    incarnation: 1,
    inputs: ['m'],
  })
}

const end = ({ call }: TestApp) =>
  call('POST', '/v1/sessions/s/events', {
    turnId: 't',
    fence: 1,
    events: [{ type: 'turn.ended', data: { turnId: 't', outcome: 'completed', fence: 1 } }],
  })

const wait = ({ call }: TestApp, waitMs: number) =>
  call('GET', `/v1/sessions/s/turns/t?waitMs=${waitMs}`)

t.test('an input waits, is changed, and is delivered by the turn that takes it up', async (t) => {
  await using api = await openTestApp()
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  const given = { messageId: 'm', text: 'do it', delivery: 'steer' }
  const admitted = await api.call('POST', '/v1/sessions/s/inputs', given)
  t.match([admitted.status, admitted.body], [201, { data: { ...given, kind: 'prompt', seq: 2 } }])
  await api.call('PATCH', '/v1/sessions/s/inputs/m', { delivery: 'queue' })
  const waiting = await api.call('GET', '/v1/sessions/s/inputs')
  t.match(waiting.body, { data: [{ messageId: 'm', delivery: 'queue', status: 'waiting' }] })
  t.match((await api.call('GET', '/v1/sessions/s/messages')).body, { data: [] })
  const turn = await api.call('POST', '/v1/sessions/s/turns', {
    ownerId: 'own',
    incarnation: 1,
    inputs: ['m'],
  })
  t.match([turn.status, turn.body], [201, { data: { turnId: /^trn_/, fence: 1 } }])
  t.match((await api.call('GET', '/v1/sessions/s/inputs')).body, { data: [] })
  t.match((await api.call('GET', '/v1/sessions/s/messages')).body, { data: [{ text: 'do it' }] })
  for (const method of ['PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { delivery: 'steer' } : undefined
    const late = await api.call(method, '/v1/sessions/s/inputs/m', body)
    t.match([late.status, late.body], [409, { code: 'input_delivered' }])
  }
  const idle = await api.call('POST', '/v1/sessions/s/inputs', { text: 'x', onlyIfIdle: true })
  t.match([idle.status, idle.body], [409, { code: 'turn_active', ownerId: 'own' }])
})

t.test('turnId and fence are given together', async (t) => {
  await using api = await openTestApp()
  await started(api)
  const events = [{ type: 'session.viewed', data: {} }]
  for (const [held, pointer] of [
    [{ turnId: 't' }, '/fence'],
    [{ fence: 1 }, '/turnId'],
  ] as const) {
    const reply = await api.call('POST', '/v1/sessions/s/events', { events, ...held })
    t.match([reply.status, reply.body], [400, { code: 'invalid_body', errors: [{ pointer }] }])
  }
})

t.test(
  'who waits for a turn is answered when it ends, through this server or another',
  async (t) => {
    await using api = await openTestApp()
    await using other = await openTestApp({ database: api.database })
    await started(api)
    const waiting = [wait(api, 20_000), wait(other, 20_000)]
    await sleep(100)
    await end(other)
    for (const reply of await Promise.all(waiting)) {
      t.match(
        [reply.status, reply.body],
        [200, { data: { status: 'ended', outcome: 'completed' } }],
      )
    }
    t.match(
      (await wait(api, 20_000)).body,
      { data: { status: 'ended' } },
      'at once when it has ended',
    )
  },
)

t.test('who waits is answered with the turn as it is when the time is over', async (t) => {
  await using api = await openTestApp()
  await started(api)
  const reply = wait(api, 300)
  await api.call('PATCH', '/v1/sessions/s', { title: 'something else happens' })
  t.match([(await reply).status, (await reply).body], [200, { data: { status: 'active' } }])
  const long = await wait(api, 30_001)
  t.match([long.status, long.body], [400, { code: 'invalid_query' }])
})

t.test('a server that stops does not wait for those who wait', async (t) => {
  await using api = await openTestApp()
  await started(api)
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  const url = `${api.app.listeningOrigin}/v1/sessions/s/turns/t?waitMs=30000`
  const reply = fetch(url)
  await sleep(200)
  await api.app.close()
  t.equal((await reply).status, 200)
})
