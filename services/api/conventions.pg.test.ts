import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import type { Scope } from './plugins/principal.ts'

type Write = {
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  /** `:s` stands for the session. */
  readonly url: string
  readonly body?: object
  /** Another body, for the same key. */
  readonly other?: object
  readonly status: number
  /** What must have happened to the session before. */
  readonly after?: readonly Pick<Write, 'method' | 'url' | 'body'>[]
}

const admit = {
  method: 'POST',
  url: '/v1/sessions/:s/inputs',
  body: { messageId: 'm', text: 'x' },
} as const
const start = {
  method: 'POST',
  url: '/v1/sessions/:s/turns',
  body: { turnId: 'trn', ownerId: 'own', incarnation: 1 },
} as const
const released = {
  method: 'POST',
  url: '/v1/sessions/:s/turns/trn/release',
  body: { fence: 1 },
} as const
const ask = {
  method: 'POST',
  url: '/v1/sessions/:s/events',
  body: {
    turnId: 'trn',
    fence: 1,
    events: [
      {
        type: 'request.opened',
        data: {
          requestId: 'req',
          kind: 'question',
          questions: [{ question: 'which?', options: [{ label: 'a' }, { label: 'b' }] }],
        },
      },
    ],
  },
} as const
const renamed = { type: 'session.renamed', data: { title: 'x' } }

/** Every write of the API, one that succeeds. */
const writes: readonly Write[] = [
  {
    method: 'PATCH',
    url: '/v1/sessions/:s',
    body: { title: 'x' },
    other: { title: 'y' },
    status: 200,
  },
  { method: 'PATCH', url: '/v1/sessions/:s', body: { metadata: { a: { b: 1 } } }, status: 200 },
  { method: 'DELETE', url: '/v1/sessions/:s', status: 204 },
  {
    method: 'POST',
    url: '/v1/sessions/:s/restore',
    status: 200,
    after: [{ method: 'DELETE', url: '/v1/sessions/:s' }],
  },
  { method: 'POST', url: '/v1/sessions/:s/archive', status: 200 },
  {
    method: 'POST',
    url: '/v1/sessions/:s/unarchive',
    status: 200,
    after: [{ method: 'POST', url: '/v1/sessions/:s/archive' }],
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/events',
    body: { events: [renamed] },
    other: { events: [renamed, renamed] },
    status: 200,
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/inputs',
    body: { text: 'x' },
    other: { text: 'y' },
    status: 201,
  },
  {
    method: 'PATCH',
    url: '/v1/sessions/:s/inputs/m',
    body: { delivery: 'steer' },
    other: { delivery: 'queue' },
    status: 200,
    after: [admit],
  },
  { method: 'DELETE', url: '/v1/sessions/:s/inputs/m', status: 204, after: [admit] },
  {
    method: 'POST',
    url: '/v1/sessions/:s/turns',
    body: { ownerId: 'own', incarnation: 1, inputs: ['m'] },
    other: { ownerId: 'own', incarnation: 1 },
    status: 201,
    after: [admit],
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/turns/trn/claim',
    body: { ownerId: 'own', incarnation: 1, fromFence: 2 },
    other: { ownerId: 'other', incarnation: 1, fromFence: 2 },
    status: 200,
    after: [start, released],
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/turns/trn/release',
    body: { fence: 1 },
    other: { fence: 2 },
    status: 200,
    after: [start],
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/turns/trn/interrupt',
    body: { reason: 'enough' },
    other: { reason: 'too much' },
    status: 200,
    after: [start],
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/requests/req/answer',
    body: { answers: [['a']] },
    other: { answers: [['b']] },
    status: 200,
    after: [start, ask],
  },
  {
    method: 'POST',
    url: '/v1/sessions/:s/requests/req/close',
    body: { reason: 'dismissed' },
    other: { reason: 'rejected' },
    status: 200,
    after: [start, ask],
  },
]

const prepare = async ({ call }: TestApp, { url, after = [] }: Write, sessionId: string) => {
  const at = (text: string): string => text.replace(':s', sessionId)
  let head = (await call('POST', '/v1/sessions', { sessionId })).headers['etag']
  for (const step of after)
    head = (await call(step.method, at(step.url), step.body)).headers['etag']
  return { url: at(url), head: Number(String(head).replaceAll('"', '')) }
}

const nameOf = ({ method, url }: Write): string => `${method} ${url}`

const rowsOf = ({ database }: TestApp): Promise<unknown> =>
  database.pool.use((connection) =>
    connection.query(`select (select count(*) from stemma.event) as events,
      (select count(*) from stemma.name) as names, (select count(*) from stemma.receipt) as receipts`),
  )

t.test(
  'If-Match works on every write: another head is 412 with the head, and nothing is written',
  async (t) => {
    await using api = await openTestApp()
    for (const [index, write] of writes.entries()) {
      const { url, head } = await prepare(api, write, `ses_${index}`)
      const before = await rowsOf(api)
      for (const seq of [head - 1, head + 1]) {
        const refused = await api.call(write.method, url, write.body, { 'if-match': `"${seq}"` })
        t.match(
          { status: refused.status, body: refused.body },
          { status: 412, body: { code: 'precondition_failed', headSeq: head } },
          nameOf(write),
        )
      }
      t.same(await rowsOf(api), before, 'nothing was written')
      const taken = await api.call(write.method, url, write.body, { 'if-match': `"${head}"` })
      t.equal(taken.status, write.status)
      t.ok(Number(String(taken.headers['etag']).replaceAll('"', '')) > head, 'ETag is the new head')
    }
    const created = await api.call('POST', '/v1/sessions', {}, { 'if-match': '"1"' })
    t.match(
      [created.status, created.body],
      [412, { headSeq: 0 }],
      'a session that is not there is at 0',
    )
    t.equal((await api.call('POST', '/v1/sessions', {}, { 'if-match': '0' })).status, 201)
    t.same(api.reported, [])
  },
)

t.test(
  'the same request under the same key is answered alike and done once, another one is 422',
  async (t) => {
    await using api = await openTestApp()
    for (const [index, write] of writes.entries()) {
      const { url } = await prepare(api, write, `ses_${index}`)
      const key = { 'idempotency-key': `key-${index}` }
      const first = await api.call(write.method, url, write.body, key)
      t.equal(first.status, write.status, nameOf(write))
      const before = await rowsOf(api)
      const again = await api.call(write.method, url, write.body, key)
      t.same([again.status, again.body], [first.status, first.body])
      if (write.other) {
        const other = await api.call(write.method, url, write.other, key)
        t.match([other.status, other.body], [422, { code: 'key_reused' }])
      }
      t.same(await rowsOf(api), before, 'nothing more was written')
    }
    const keyed = { 'idempotency-key': 'create' }
    const created = await api.call('POST', '/v1/sessions', { title: 'x' }, keyed)
    t.same((await api.call('POST', '/v1/sessions', { title: 'x' }, keyed)).body, created.body)
    const other = await api.call('POST', '/v1/sessions', { title: 'y' }, keyed)
    t.match([other.status, other.body], [422, { code: 'key_reused' }])
    t.same(api.reported, [])
  },
)

t.test('the same members in another order are the same request', async (t) => {
  await using api = await openTestApp()
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  const url = '/v1/sessions/s/inputs'
  const key = { 'idempotency-key': 'k' }
  const first = await api.call('POST', url, '{"text":"x","delivery":"steer"}', key)
  const again = await api.call('POST', url, '{ "delivery": "steer", "text": "\\u0078" }', key)
  t.equal(first.status, 201)
  t.same([again.status, again.body], [first.status, first.body])
})

t.test(
  'every read of a session carries its head as ETag; HEAD says the same without a body',
  async (t) => {
    await using api = await openTestApp()
    await api.call('POST', '/v1/sessions', { sessionId: 's' })
    await api.call('POST', '/v1/sessions/s/inputs', { messageId: 'm', text: 'x' })
    await api.call('POST', '/v1/sessions/s/turns', {
      turnId: 't',
      ownerId: 'o',
      incarnation: 1,
      inputs: ['m'],
    })
    for (const url of [
      '/v1/sessions/s',
      '/v1/sessions/s/events',
      '/v1/sessions/s/inputs',
      '/v1/sessions/s/turns/t',
      '/v1/sessions/s/messages',
      '/v1/sessions/s/messages/m',
      '/v1/sessions/s/context',
    ]) {
      const got = await api.call('GET', url)
      t.same([got.status, got.headers['etag']], [200, '"4"'], url)
      const head = await api.call('HEAD', url)
      t.same([head.status, head.text, head.headers['etag']], [200, '', '"4"'])
      t.equal(head.headers['content-length'], got.headers['content-length'])
      const options = await api.call('OPTIONS', url)
      t.equal(options.status, 204)
      t.match(String(options.headers['allow']), /GET, HEAD, OPTIONS/)
    }
  },
)

t.test(
  'a method that a route does not take is 405 with those that it takes, whatever the body',
  async (t) => {
    await using api = await openTestApp()
    for (const [method, url, allow] of [
      ['DELETE', '/v1/sessions', 'GET, HEAD, OPTIONS, POST'],
      ['PUT', '/v1/sessions/s', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
      ['GET', '/v1/imports', 'OPTIONS, POST'],
      ['PATCH', '/v1/sessions/s/archive', 'OPTIONS, POST'],
      ['GET', '/v1/sessions/s/inputs/m', 'DELETE, OPTIONS, PATCH'],
      ['POST', '/livez', 'GET, HEAD, OPTIONS'],
    ] as const) {
      const reply = await api.call(method, url, method === 'GET' ? undefined : '{"not json')
      t.match([reply.status, reply.body], [405, { code: 'method_not_allowed' }], `${method} ${url}`)
      t.equal(reply.headers['allow'], allow)
    }
  },
)

t.test(
  'every reply names its request: by the id that the caller gave, or by one of ours',
  async (t) => {
    await using api = await openTestApp()
    const given = await api.call('GET', '/livez', undefined, { 'x-request-id': 'mine-1' })
    t.equal(given.headers['x-request-id'], 'mine-1')
    for (const bad of ['a b', 'x'.repeat(129), '<script>']) {
      const reply = await api.call('GET', '/livez', undefined, { 'x-request-id': bad })
      t.equal(reply.status, 200)
      t.match(String(reply.headers['x-request-id']), /^[0-9a-f-]{36}$/)
    }
    t.ok((await api.call('GET', '/nowhere')).headers['x-request-id'], 'a refusal too')
  },
)

t.test('pages of other hosts are refused, those of this machine are served', async (t) => {
  await using api = await openTestApp()
  for (const headers of [
    { origin: 'https://pages.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1.pages.example' },
    { host: 'pages.example' },
    { host: 'localhost.pages.example:4600' },
  ]) {
    const reply = await api.call('POST', '/v1/sessions', undefined, headers)
    t.match([reply.status, reply.body], [403, { code: 'forbidden' }], JSON.stringify(headers))
  }
  for (const headers of [
    { origin: 'http://localhost:5173', host: '127.0.0.1:4600' },
    { host: '[::1]:4600' },
    { host: 'localhost' },
  ]) {
    t.equal((await api.call('POST', '/v1/sessions', undefined, headers)).status, 201)
  }
})

t.test('a caller without the scope of a route is refused, and writes nothing', async (t) => {
  const scopes = new Set<Scope>()
  await using api = await openTestApp({
    authenticate: async () => ({ tenant: 1, subject: 'somebody', scopes }),
  })
  const calls = [
    ['read', 'GET', '/v1/sessions'],
    ['read', 'GET', '/v1/events'],
    ['append', 'POST', '/v1/sessions'],
    ['import', 'POST', '/v1/imports'],
  ] as const
  for (const [, method, url] of calls) {
    const reply = await api.call(method, url, method === 'POST' ? {} : undefined)
    t.match([reply.status, reply.body], [403, { code: 'forbidden' }], url)
  }
  for (const [scope, method, url] of calls) {
    scopes.clear()
    scopes.add(scope)
    const reply = await api.call(method, url, method === 'POST' ? {} : undefined)
    t.not(reply.status, 403, `${scope} opens ${url}`)
  }
  t.equal((await api.call('GET', '/livez')).status, 200, 'health is open to anybody')
})

t.test("another tenant's sessions are not there", async (t) => {
  await using mine = await openTestApp()
  const tenant = await mine.database.pool.use((connection) =>
    connection.query<{ tenant: number }>(
      `insert into stemma.tenant (name) values ('other') returning tenant`,
    ),
  )
  await using other = await openTestApp({
    database: mine.database,
    authenticate: async () => ({
      tenant: tenant[0]!.tenant,
      subject: 'other',
      scopes: new Set<Scope>(['read', 'append', 'import']),
    }),
  })
  await mine.call('POST', '/v1/sessions', { sessionId: 's', title: 'mine' })
  for (const [method, url, body] of [
    ['GET', '/v1/sessions/s', undefined],
    ['GET', '/v1/sessions/s/events', undefined],
    ['GET', '/v1/sessions/s/messages', undefined],
    ['PATCH', '/v1/sessions/s', { title: 'x' }],
    ['DELETE', '/v1/sessions/s', undefined],
    ['POST', '/v1/sessions/s/inputs', { text: 'x' }],
  ] as const) {
    const reply = await other.call(method, url, body)
    t.match([reply.status, reply.body], [404, { code: 'session_not_found' }], `${method} ${url}`)
  }
  t.same((await other.call('GET', '/v1/sessions')).body, {
    data: [],
    cursor: { next: null, previous: null },
  })
  t.match((await other.call('GET', '/v1/events')).body, { data: [] })
  t.equal(
    (await other.call('POST', '/v1/sessions', { sessionId: 's' })).status,
    201,
    'the same id is free',
  )
  t.match((await mine.call('GET', '/v1/sessions/s')).body, { data: { title: 'mine' } })
  const cursor = ((await mine.call('GET', '/v1/events')).body as { cursor: { next: string } })
    .cursor
  const foreign = await other.call('GET', `/v1/events?after=${cursor.next}`)
  t.match([foreign.status, foreign.body], [400, { code: 'invalid_cursor' }])
})
