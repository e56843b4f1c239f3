import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { holdTurn } from '../../test/harness/held-turn.ts'
import { turnEnded } from '../../test/harness/rehearsal.ts'
import { openTestApp, type Answer, type TestApp } from '../../test/harness/test-app.ts'

/** Does something to an owner in a transaction that is open until it is let go. */
const withinTransaction = async (
  { database }: TestApp,
  statement: string,
  meanwhile: () => Promise<void>,
): Promise<void> =>
  database.pool.use(async (connection) => {
    await connection.query('begin')
    await connection.query(statement)
    try {
      await meanwhile()
    } finally {
      await connection.query('commit')
    }
  })

/** What a request is answered, and that it was not answered while the transaction was open. */
const answeredAfter = async (
  api: TestApp,
  statement: string,
  request: () => Promise<Answer>,
): Promise<{ readonly waited: boolean; readonly answer: Answer }> => {
  let answered = false
  let asked: Promise<Answer> | undefined
  let waited = false
  await withinTransaction(api, statement, async () => {
    asked = request().then((answer) => {
      answered = true
      return answer
    })
    await sleep(300)
    waited = !answered
  })
  return { waited, answer: await asked! }
}

const lapsed = async (api: TestApp): Promise<void> => {
  await api.database.pool.use((connection) =>
    connection.query(`update stemma.owner set lifetime = 'lease', ttl_ms = 100,
      heartbeat_at = clock_timestamp() where owner_id = 'own_1'`),
  )
  for (;;) {
    const { body } = await api.call('GET', '/v1/owners/own_1')
    if ((body as { data: { status: string } }).data.status === 'lapsed') return
    await sleep(20)
  }
}

t.test(
  'a heartbeat that comes before a claim keeps the turn, though it commits late',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await lapsed(api)
    const { waited, answer } = await answeredAfter(
      api,
      `update stemma.owner set heartbeat_at = clock_timestamp() + interval '1 min'
       where owner_id = 'own_1'`,
      () => turn.claim('own_2', 1),
    )
    t.ok(waited, 'the claim waits for the heartbeat')
    t.match(answer, { status: 409, body: { code: 'owner_alive', ownerId: 'own_1' } })
    t.same(api.reported, [])
  },
)

t.test(
  'a claim that comes before a heartbeat takes the turn, and the owner is fenced',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await lapsed(api)
    const { waited, answer } = await answeredAfter(
      api,
      `select stemma.check_owners_v1('{1}', 'own_1', '{1}', '{lost}')`,
      () => api.call('PUT', '/v1/owners/own_1/heartbeat', { incarnation: 1 }),
    )
    t.ok(waited, 'the heartbeat waits for the claim')
    // Its clock is of when it came: behind a lock it may have lapsed again.
    t.equal(answer.status, 200)
    t.equal((await turn.claim('own_2', 1)).status, 200)
    t.match(await turn.append([turnEnded()]), { status: 409, body: { code: 'fenced', fence: 2 } })
    t.same(api.reported, [])
  },
)

t.test('an exit waits for a start that is being stored, and its turns are all there', async (t) => {
  await using api = await openTestApp()
  const { waited, answer } = await answeredAfter(
    api,
    `select stemma.check_owners_v1('{1}', 'own_1', '{1}', '{current}')`,
    () => api.call('POST', '/v1/owners/own_1/exited', { incarnation: 1, reason: 'killed' }),
  )
  t.ok(waited)
  t.equal(answer.status, 200)
  t.same(api.reported, [])
})

t.test('a registration waits for starts of the incarnation that it supersedes', async (t) => {
  await using api = await openTestApp()
  const { waited, answer } = await answeredAfter(
    api,
    `select stemma.check_owners_v1('{1}', 'own_1', '{1}', '{current}')`,
    () => api.call('POST', '/v1/owners', { ownerId: 'own_1', lifetime: 'process' }),
  )
  t.ok(waited, 'or its list of the turns of before lacks one')
  t.match(answer, { status: 201, body: { data: { incarnation: 2 } } })
  t.same(api.reported, [])
})

t.test('of many that register under one id at once each is told its own incarnation', async (t) => {
  await using api = await openTestApp()
  const many = 40
  const registered = await Promise.all(
    Array.from({ length: many }, () =>
      api.call('POST', '/v1/owners', { ownerId: 'own_x', lifetime: 'process' }),
    ),
  )
  const told = registered.map(({ body }) => (body as OwnerBody).data.incarnation)
  t.same(
    told.toSorted((a, b) => a - b),
    Array.from({ length: many }, (_, n) => n + 1),
  )
  t.same(api.reported, [])
})

type OwnerBody = { readonly data: { readonly incarnation: number } }

t.test('a start behind an exit is refused', async (t) => {
  await using api = await openTestApp()
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  const start = { turnId: 'trn', ownerId: 'own_1', incarnation: 1 }
  const { waited, answer } = await answeredAfter(
    api,
    `with locked as materialized (select 1 from stemma.owner where owner_id = 'own_1' for update)
       update stemma.owner set ended_at = clock_timestamp(), end_reason = 'left'
         from locked where owner_id = 'own_1'`,
    () => api.call('POST', '/v1/sessions/s/turns', start),
  )
  t.ok(waited)
  t.match(answer, { status: 409, body: { code: 'owner_exited' } })
  t.same(api.reported, [])
})

t.test('of many that claim at once one takes the turn, and its fence is one more', async (t) => {
  await using a = await openTestApp()
  await using b = await openTestApp({ database: a.database })
  for (let n = 0; n < 6; n += 1) {
    const turns = [await holdTurn(a, `ses_${n}`)]
    await a.call('POST', `${turns[0]!.at}/release`, { fence: 1 })
    const claims = await Promise.all(
      ['own_2', 'own_a', 'own_b', 'own', 'me', 'other'].map((ownerId, index) =>
        (index % 2 ? a : b).call('POST', `${turns[0]!.at}/claim`, {
          ownerId,
          incarnation: 1,
          fromFence: 2,
        }),
      ),
    )
    t.match(
      claims.filter(({ status }) => status === 200).map(({ body }) => body),
      [{ data: { fence: 3 } }],
    )
    const lost = claims.filter(({ status }) => status !== 200)
    t.equal(lost.length, 5)
    for (const { body } of lost) t.match(body, { code: 'fenced', fence: 3 })
  }
  t.same([...a.reported, ...b.reported], [])
})

t.test(
  'an owner whose lease has lapsed starts and claims nothing before a heartbeat',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await api.call('POST', `${turn.at}/release`, { fence: 1 })
    await api.call('POST', '/v1/sessions', { sessionId: 'other' })
    await lapsed(api)
    const start = { turnId: 'trn', ownerId: 'own_1', incarnation: 1 }
    const refused = { status: 409, body: { code: 'owner_lapsed' } }
    t.match(await api.call('POST', '/v1/sessions/other/turns', start), refused)
    t.match(await turn.claim('own_1', 2), refused)
    await api.database.pool.use((connection) =>
      connection.query(`update stemma.owner set ttl_ms = 60000 where owner_id = 'own_1'`),
    )
    t.equal((await api.call('PUT', '/v1/owners/own_1/heartbeat', { incarnation: 1 })).status, 200)
    t.equal((await turn.claim('own_1', 2)).status, 200)
  },
)
