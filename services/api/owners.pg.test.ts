import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

const post = async ({ call }: TestApp, url: string, body: object, headers = {}) => {
  const { status, body: reply } = await call('POST', url, body, headers)
  return { status, ...(reply as { code?: string; data: Record<string, unknown> }) }
}

const register = async (api: TestApp, body: object) =>
  (await post(api, '/v1/owners', { lifetime: 'lease', ...body })).data

/** A session with a turn of that owner. */
const startTurn = async (api: TestApp, owner: object, sessionId: string) => {
  await post(api, '/v1/sessions', { sessionId })
  const turnId = `trn_${sessionId}`
  const started = await post(api, `/v1/sessions/${sessionId}/turns`, { turnId, ...owner })
  return { ...started, at: `/v1/sessions/${sessionId}/turns/${turnId}` }
}

t.test('a registration is an incarnation, and a later one supersedes it', async (t) => {
  await using api = await openTestApp()
  const first = await register(api, { ownerId: 'own_x', ttlMs: 60_000, host: 'h' })
  t.match(first, { ownerId: 'own_x', incarnation: 1, lifetime: 'lease', ttlMs: 60_000, host: 'h' })
  t.equal(first['status'], 'alive')
  t.match(await register(api, { ownerId: 'own_x', lifetime: 'process' }), {
    incarnation: 2,
    lifetime: 'process',
    ttlMs: undefined,
    lapsesAt: undefined,
  })
  for (const [method, url] of [
    ['PUT', '/v1/owners/own_x/heartbeat'],
    ['DELETE', '/v1/owners/own_x'],
  ] as const) {
    const old = await api.call(method, url, { incarnation: 1 })
    t.match(old, { status: 409, body: { code: 'owner_superseded', incarnation: 2 } })
    const never = await api.call(method, url, { incarnation: 3 })
    t.match(never, { status: 409, body: { code: 'wrong_state' } })
    const unknown = await api.call(method, url.replace('own_x', 'own_no'), { incarnation: 1 })
    t.match(unknown, { status: 404, body: { code: 'owner_not_found' } })
  }
  t.match(await api.call('GET', '/v1/owners/own_x'), {
    status: 200,
    body: { data: { incarnation: 2, status: 'alive' } },
  })
  t.same(api.reported, [])
})

t.test('a registration that is sent again under its key is not made a second time', async (t) => {
  await using api = await openTestApp()
  const key = { 'idempotency-key': 'k' }
  const body = { lifetime: 'lease', ttlMs: 5_000 }
  const first = await post(api, '/v1/owners', body, key)
  const again = await post(api, '/v1/owners', body, key)
  t.match(again.data, { ownerId: first.data['ownerId'], incarnation: 1 })
  const other = await post(api, '/v1/owners', { ...body, ttlMs: 6_000 }, key)
  t.match(other, { status: 422, code: 'key_reused' })
  const ownerId = first.data['ownerId'] as string
  t.match(await post(api, '/v1/owners', { ...body, ownerId }), { data: { incarnation: 2 } })
  t.match(
    (await post(api, '/v1/owners', body, key)).data,
    { ownerId, incarnation: 1, status: 'exited' },
    'nor when another came in between: it supersedes nobody',
  )
  t.match(await api.call('GET', `/v1/owners/${ownerId}`), {
    body: { data: { incarnation: 2, status: 'alive' } },
  })
  const named = { ...body, ownerId: 'own_x' }
  const replies = await Promise.all(
    Array.from({ length: 12 }, () =>
      post(api, '/v1/owners', named, { 'idempotency-key': 'at-once' }),
    ),
  )
  for (const reply of replies) t.match(reply, { status: 201, data: { incarnation: 1 } })
})

t.test('a lapsed lease permits a take-over and fails nothing; the loser is fenced', async (t) => {
  await using api = await openTestApp()
  await register(api, { ownerId: 'own_x', ttlMs: 300 })
  await register(api, { ownerId: 'own_y', ttlMs: 60_000 })
  const x = { ownerId: 'own_x', incarnation: 1 }
  const claim = { ownerId: 'own_y', incarnation: 1, fromFence: 1 }
  const { at } = await startTurn(api, x, 's')
  t.match(await post(api, `${at}/claim`, claim), { status: 409, code: 'owner_alive' })
  await sleep(600)
  t.match(await api.call('GET', '/v1/owners/own_x'), { body: { data: { status: 'lapsed' } } })
  const append = (fence: number) =>
    post(api, '/v1/sessions/s/events', {
      events: [
        {
          type: 'step.started',
          data: {
            messageId: `msg_${fence}`,
            attempt: 1,
            agent: 'a',
            model: { modelId: 'm', providerId: 'p' },
          },
        },
      ],
      turnId: 'trn_s',
      fence,
    })
  t.equal((await append(1)).status, 200, 'who stalled and was not taken over goes on')
  const beat = await api.call('PUT', '/v1/owners/own_x/heartbeat', { incarnation: 1 })
  t.match(beat, { status: 200, body: { data: { status: 'alive' } } })
  t.match(await post(api, `${at}/claim`, claim), { status: 409, code: 'owner_alive' })
  await sleep(600)
  const claimed = await post(api, `${at}/claim`, claim)
  t.match(claimed, {
    status: 200,
    data: { fence: 2, report: { step: { messageId: 'msg_1', now: 'failed' } } },
  })
  t.match(await append(1), { status: 409, code: 'fenced', fence: 2 })
  t.match(await post(api, `${at}/claim`, claim), { status: 409, code: 'fenced' })
  t.equal((await append(2)).status, 200)
  t.same(api.reported, [])
})

t.test('an exit makes turns claimable at once, or ends them as failed', async (t) => {
  await using api = await openTestApp()
  for (const ownerId of ['own_x', 'own_y']) await register(api, { ownerId, lifetime: 'process' })
  const x = { ownerId: 'own_x', incarnation: 1 }
  const sessions = ['s1', 's2', 's3']
  for (const session of sessions) await startTurn(api, x, session)
  const left = await api.call('DELETE', '/v1/owners/own_x', { incarnation: 1 })
  t.equal(left.status, 204)
  t.match(await startTurn(api, x, 's4'), { status: 409, code: 'owner_exited' })
  const beat = await api.call('PUT', '/v1/owners/own_x/heartbeat', { incarnation: 1 })
  t.match(beat, { status: 409, body: { code: 'owner_exited' } })
  t.match(
    await post(api, '/v1/sessions/s1/turns/trn_s1/claim', {
      ownerId: 'own_y',
      incarnation: 1,
      fromFence: 1,
    }),
    { status: 200, data: { fence: 2 } },
  )
  const exited = await post(api, '/v1/owners/own_x/exited', {
    incarnation: 1,
    reason: 'out of memory',
    fail: true,
  })
  t.match(exited, {
    status: 200,
    data: { status: 'exited', exitReason: 'left' },
    failed: { length: 2 },
  })
  t.match(await api.call('GET', '/v1/sessions/s2/turns/trn_s2'), {
    body: {
      data: {
        status: 'ended',
        outcome: 'failed',
        fence: 2,
        stopReason: 'owner_exited',
        error: { kind: 'aborted', message: 'out of memory' },
      },
    },
  })
  t.match(await api.call('GET', '/v1/sessions/s1/turns/trn_s1'), {
    body: { data: { status: 'active', ownerId: 'own_y' } },
  })
  t.match(
    await post(api, '/v1/owners/own_x/exited', { incarnation: 1, reason: 'x', fail: true }),
    { status: 200, failed: [] },
    'said again it changes nothing',
  )
  t.same(api.reported, [])
})

t.test('a turn of another store’s owner is nobody’s here, whatever it is called', async (t) => {
  await using api = await openTestApp()
  for (const incarnation of [undefined, 0, 5]) {
    for (const interrupted of [false, true]) {
      const sessionId = `ses_${incarnation}_${interrupted}`
      const origin = { system: 'x', sessionId, live: true }
      // Our own `own_1` lives, as incarnation 1.
      const turn = { turnId: 'trn', ownerId: 'own_1', incarnation, fence: 1, inputs: [] }
      const imported = await post(api, '/v1/imports', {
        origin,
        events: [
          { type: 'session.created', data: { origin } },
          { type: 'turn.started', data: turn },
        ],
      })
      t.equal(imported.status, 200)
      const sync = await api.call('POST', '/v1/sync', { sessions: [{ sessionId, afterSeq: 0 }] })
      t.match(sync.body, { data: [{ sessionId, ownerAlive: false }] })
      const at = `/v1/sessions/${sessionId}/turns/trn`
      if (interrupted) {
        t.match((await post(api, `${at}/interrupt`, { reason: 'enough' })).data, {
          outcome: 'interrupted',
        })
      } else {
        const claim = { ownerId: 'own_2', incarnation: 1, fromFence: 1 }
        t.match(await post(api, `${at}/claim`, claim), { status: 200, data: { fence: 2 } })
      }
    }
  }
  t.same(api.reported, [])
})

t.test('an exit fails turns whatever the states of other sessions hold', async (t) => {
  await using api = await openTestApp()
  const owner = { ownerId: 'own_1', incarnation: 1 }
  const turn = await startTurn(api, owner, 's')
  // A finish is any text; PostgreSQL looks into no JSON that holds a NUL.
  await startTurn(api, { ownerId: 'own_2', incarnation: 1 }, 'other')
  const step = { messageId: 'msg_1', attempt: 1, agent: 'a' }
  const streamed = await post(api, '/v1/sessions/other/events', {
    turnId: 'trn_other',
    fence: 1,
    events: [
      { type: 'step.started', data: { ...step, model: { modelId: 'm', providerId: 'p' } } },
      { type: 'step.streamed', data: { messageId: 'msg_1', finish: '"ownerId":"own_1"\u0000' } },
    ],
  })
  t.equal(streamed.status, 200)
  t.match(
    await api.call('POST', '/v1/owners/own_1/exited', {
      incarnation: 1,
      reason: 'killed',
      fail: true,
    }),
    { status: 200, body: { failed: [{ sessionId: 's', turnId: 'trn_s' }] } },
  )
  t.match((await api.call('GET', turn.at)).body, { data: { outcome: 'failed' } })
  t.same(api.reported, [])
})

t.test(
  'while no heartbeat can be taken no lease lapses, and afterwards each has a full one',
  async (t) => {
    await using api = await openTestApp()
    // No lease lapses in its first time after a start of PostgreSQL either.
    await api.database.pool.use((connection) =>
      connection.query(
        `select pg_sleep(greatest(0, 3.1 - extract(epoch from clock_timestamp() - pg_postmaster_start_time())))`,
      ),
    )
    await register(api, { ownerId: 'own_x', ttlMs: 3_000 })
    await register(api, { ownerId: 'own_y', ttlMs: 60_000 })
    const { at } = await startTurn(api, { ownerId: 'own_x', incarnation: 1 }, 's')
    // An outage of a minute, just over: the last heartbeat and the last pulse are that old.
    await api.database.pool.use(async (connection) => {
      await connection.query(
        `update stemma.owner set heartbeat_at = heartbeat_at - interval '1 min' where owner_id = 'own_x'`,
      )
      await connection.query(
        `update stemma.availability set pulsed_at = pulsed_at - interval '1 min',
         since = since - interval '1 hour'`,
      )
    })
    const claim = { ownerId: 'own_y', incarnation: 1, fromFence: 1 }
    t.match(await post(api, `${at}/claim`, claim), { status: 409, code: 'owner_alive' })
    await sleep(1_500)
    t.match(await post(api, `${at}/claim`, claim), { status: 409, code: 'owner_alive' })
    t.match(await api.call('GET', '/v1/owners/own_x'), { body: { data: { status: 'alive' } } })
    // The same without an outage: the lease is over.
    await api.database.pool.use((connection) =>
      connection.query(`update stemma.availability set since = since - interval '1 hour'`),
    )
    t.match(await post(api, `${at}/claim`, claim), { status: 200, data: { fence: 2 } })
  },
)

t.test('a released turn is anybody’s, and its owner is fenced', async (t) => {
  await using api = await openTestApp()
  const { at } = await startTurn(api, { ownerId: 'own_1', incarnation: 1 }, 's')
  t.match(await post(api, `${at}/release`, { fence: 1 }), { status: 200, data: { fence: 2 } })
  t.match(await post(api, `${at}/release`, { fence: 1 }), { status: 409, code: 'fenced' })
  const claim = { ownerId: 'own_2', incarnation: 1 }
  t.match(await post(api, `${at}/claim`, { ...claim, fromFence: 1 }), {
    status: 409,
    code: 'fenced',
  })
  t.match(await post(api, `${at}/claim`, { ...claim, fromFence: 2 }), {
    status: 200,
    data: { fence: 3 },
  })
})

t.test('a turn that has ended names who held it last', async (t) => {
  await using api = await openTestApp()
  const { at } = await startTurn(api, { ownerId: 'own_1', incarnation: 1 }, 's')
  await post(api, `${at}/release`, { fence: 1 })
  await post(api, `${at}/claim`, { ownerId: 'own_2', incarnation: 1, fromFence: 2 })
  const data = { turnId: 'trn_s', outcome: 'completed', fence: 3 }
  const events = [{ type: 'turn.ended', data }]
  await post(api, '/v1/sessions/s/events', { events, turnId: 'trn_s', fence: 3 })
  t.match(await api.call('GET', at), {
    body: { data: { status: 'ended', ownerId: 'own_2', fence: 3 } },
  })
})

t.test('of two that claim at once one gets the turn and the other stops', async (t) => {
  await using one = await openTestApp()
  await using two = await openTestApp({ database: one.database })
  const { at } = await startTurn(one, { ownerId: 'own_1', incarnation: 1 }, 's')
  await post(one, `${at}/release`, { fence: 1 })
  const claims = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      post(n % 2 === 0 ? one : two, `${at}/claim`, {
        ownerId: n % 2 === 0 ? 'own_a' : 'own_b',
        incarnation: 1,
        fromFence: 2,
      }),
    ),
  )
  t.equal(claims.filter(({ status }) => status === 200).length, 1)
  t.ok(claims.every(({ status, code }) => status === 200 || code === 'fenced'))
})

t.test('an interruption stops a turn whose owner is gone, at once, down the tree', async (t) => {
  await using api = await openTestApp()
  await register(api, { ownerId: 'own_x', lifetime: 'process' })
  const x = { ownerId: 'own_x', incarnation: 1 }
  const { at } = await startTurn(api, x, 'root')
  await post(api, '/v1/sessions', { sessionId: 'idle', parent: { sessionId: 'root' } })
  await post(api, '/v1/sessions', { sessionId: 'child', parent: { sessionId: 'root' } })
  await startTurn(api, x, 'child')
  const asked = await post(api, `${at}/interrupt`, { reason: 'stop', device: 'phone' })
  const interrupt = { reason: 'stop', by: { subject: 'local', device: 'phone' } }
  t.match(asked, { status: 200, data: { status: 'active', interrupt } }, 'its owner reads it')
  await api.call('DELETE', '/v1/owners/own_x', { incarnation: 1 })
  const stopped = await post(api, `${at}/interrupt`, { reason: 'again', tree: true })
  t.match(stopped, { status: 200, data: { status: 'ended', outcome: 'interrupted', interrupt } })
  t.match(await api.call('GET', '/v1/sessions/child/turns/trn_child'), {
    body: { data: { status: 'ended', outcome: 'interrupted', interrupt: { reason: 'again' } } },
  })
  t.match(await post(api, `${at}/interrupt`, { reason: 'x' }), {
    status: 409,
    code: 'turn_settled',
  })
  t.same(api.reported, [])
})
