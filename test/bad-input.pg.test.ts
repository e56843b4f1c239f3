import t from 'tap'
import { buildApp } from '../services/api/build-app.ts'
import { openLog } from '../services/log/open-log.ts'
import { readSettings } from '../services/settings.ts'
import { openTestDatabase } from './harness/database.ts'

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
type Bad = {
  readonly method: Method
  readonly url: string
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  readonly code: string
  /** The first place that is wrong. */
  readonly pointer?: string
}

const json = { 'content-type': 'application/json' }
const longId = 'x'.repeat(129)

/** Every route that takes a body, with a body that it takes. */
const bodies: readonly { method: Method; url: string; good: Record<string, unknown> }[] = [
  { method: 'POST', url: '/v1/sessions', good: { title: 'x' } },
  { method: 'PATCH', url: '/v1/sessions/ses_1', good: { title: 'x' } },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/events',
    good: { events: [{ type: 'session.viewed', data: {} }] },
  },
  { method: 'POST', url: '/v1/sessions/ses_1/inputs', good: { text: 'x' } },
  { method: 'PATCH', url: '/v1/sessions/ses_1/inputs/msg_1', good: { delivery: 'queue' } },
  { method: 'POST', url: '/v1/sessions/ses_1/turns', good: { ownerId: 'own' } },
  {
    method: 'POST',
    url: '/v1/imports',
    good: {
      origin: { system: 's', sessionId: 'ses_9' },
      events: [{ eventId: 'e', type: 'session.created', data: {} }],
    },
  },
]

const reads: readonly string[] = [
  '/v1/sessions',
  '/v1/events',
  '/v1/sessions/ses_1',
  '/v1/sessions/ses_1/events',
  '/v1/sessions/ses_1/inputs',
  '/v1/sessions/ses_1/messages',
  '/v1/sessions/ses_1/messages/msg_1',
  '/v1/sessions/ses_1/context',
  '/v1/sessions/ses_1/turns/trn_1',
]

const ofEveryBody: readonly Bad[] = bodies.flatMap(({ method, url, good }): Bad[] => {
  const at = { method, url }
  return [
    {
      ...at,
      body: { ...good, notAMember: 1 },
      status: 400,
      code: 'invalid_body',
      pointer: '/notAMember',
    },
    { ...at, body: [], status: 400, code: 'invalid_body', pointer: '' },
    { ...at, body: 'text', status: 400, code: 'invalid_body', pointer: '' },
    { ...at, body: null, status: 400, code: 'invalid_body', pointer: '' },
    { ...at, raw: '{"a":', headers: json, status: 400, code: 'invalid_json', pointer: '' },
    {
      ...at,
      raw: '{"a":9007199254740993}',
      headers: json,
      status: 400,
      code: 'invalid_json',
      pointer: '/a',
    },
    { ...at, raw: '{"a":-0}', headers: json, status: 400, code: 'invalid_json', pointer: '/a' },
    {
      ...at,
      raw: '{"a":1,"a":1}',
      headers: json,
      status: 400,
      code: 'invalid_json',
      pointer: '/a',
    },
    {
      ...at,
      raw: Buffer.from([0x22, 0xff, 0x22]),
      headers: json,
      status: 400,
      code: 'invalid_json',
      pointer: '',
    },
    {
      ...at,
      raw: `{"a":${'['.repeat(600)}${']'.repeat(600)}}`,
      headers: json,
      status: 400,
      code: 'invalid_json',
    },
    {
      ...at,
      raw: JSON.stringify(good),
      headers: { 'content-type': 'text/plain' },
      status: 415,
      code: 'unsupported_media_type',
    },
    {
      ...at,
      raw: JSON.stringify({ a: 'x'.repeat(9_000_000) }),
      headers: json,
      status: 413,
      code: 'too_large',
    },
    {
      ...at,
      body: good,
      headers: { 'idempotency-key': 'not a key' },
      status: 400,
      code: 'invalid_header',
    },
    {
      ...at,
      body: good,
      headers: { 'idempotency-key': longId },
      status: 400,
      code: 'invalid_header',
    },
    { ...at, body: good, headers: { 'if-match': 'W/"x"' }, status: 400, code: 'invalid_header' },
    ...(url === '/v1/sessions' || url === '/v1/imports'
      ? []
      : [
          {
            ...at,
            url: url.replace('ses_1', longId),
            body: good,
            status: 400,
            code: 'invalid_id',
          } as const,
        ]),
  ]
})

const ofEveryRead: readonly Bad[] = reads.flatMap((url): Bad[] => [
  { method: 'GET', url: `${url}?notAParameter=1`, status: 400, code: 'invalid_query' },
  { method: 'PUT', url, status: 405, code: 'method_not_allowed' },
  ...(url.includes('ses_1')
    ? [
        {
          method: 'GET',
          url: url.replace('ses_1', longId),
          status: 400,
          code: 'invalid_id',
        } as const,
        {
          method: 'GET',
          url: url.replace('ses_1', '%00'),
          status: 400,
          code: 'invalid_id',
        } as const,
        {
          method: 'GET',
          url: url.replace('ses_1', '%ff'),
          status: 400,
          code: 'invalid_id',
        } as const,
        {
          method: 'GET',
          url: url.replace('ses_1', 'no_such'),
          status: 404,
          code: 'session_not_found',
        } as const,
      ]
    : []),
])

const limits: readonly Bad[] = [
  '/v1/sessions',
  '/v1/events',
  '/v1/sessions/ses_1/events',
  '/v1/sessions/ses_1/messages',
].flatMap((url) =>
  ['0', '-1', '501', '1e2', '0x10', ' 5', 'ten', '', '99999999999999999999'].map((limit): Bad => ({
    method: 'GET',
    url: `${url}?limit=${encodeURIComponent(limit)}`,
    status: 400,
    code: 'invalid_limit',
  })),
)

const cursors: readonly Bad[] = [
  '/v1/sessions?cursor=',
  '/v1/events?after=',
  '/v1/sessions/ses_1/messages?cursor=',
].flatMap((url) =>
  ['x', '%00', 'AAAAAAAAAAAAAAAA', '../../etc'].map((cursor): Bad => ({
    method: 'GET',
    url: `${url}${cursor}`,
    status: 400,
    code: 'invalid_cursor',
  })),
)

const event = (e: object): Bad['body'] => ({ events: [{ type: 'session.viewed', data: {} }, e] })
const events = '/v1/sessions/ses_1/events'

const particular: readonly Bad[] = [
  {
    method: 'POST',
    url: '/v1/sessions',
    body: { sessionId: 'a b' },
    status: 400,
    code: 'invalid_id',
    pointer: '/sessionId',
  },
  {
    method: 'POST',
    url: '/v1/sessions',
    body: { sessionId: 3 },
    status: 400,
    code: 'invalid_body',
    pointer: '/sessionId',
  },
  {
    method: 'POST',
    url: '/v1/sessions',
    body: { title: 3 },
    status: 400,
    code: 'invalid_body',
    pointer: '/title',
  },
  {
    method: 'POST',
    url: '/v1/sessions',
    body: { model: { modelId: 'm' } },
    status: 400,
    code: 'invalid_body',
    pointer: '/model/providerId',
  },
  {
    method: 'POST',
    url: '/v1/sessions',
    body: { sessionId: 'ses_1' },
    status: 409,
    code: 'duplicate_id',
  },
  { method: 'GET', url: '/v1/sessions?order=random', status: 400, code: 'invalid_query' },
  { method: 'GET', url: '/v1/sessions?status=dead', status: 400, code: 'invalid_query' },
  {
    method: 'GET',
    url: '/v1/sessions?order=created&order=updated',
    status: 400,
    code: 'invalid_query',
  },
  {
    method: 'PATCH',
    url: '/v1/sessions/ses_1',
    body: { metadata: 'x' },
    status: 400,
    code: 'invalid_body',
    pointer: '/metadata',
  },
  { method: 'POST', url: events, body: {}, status: 400, code: 'invalid_body', pointer: '/events' },
  {
    method: 'POST',
    url: events,
    body: { events: [] },
    status: 400,
    code: 'invalid_body',
    pointer: '/events',
  },
  {
    method: 'POST',
    url: events,
    body: { events: {} },
    status: 400,
    code: 'invalid_body',
    pointer: '/events',
  },
  {
    method: 'POST',
    url: events,
    body: { events: Array.from({ length: 1001 }, () => ({ type: 'session.viewed', data: {} })) },
    status: 413,
    code: 'too_large',
  },
  {
    method: 'POST',
    url: events,
    body: event({ type: 'turn.started', data: {} }),
    status: 403,
    code: 'reserved_type',
    pointer: '/events/1/type',
  },
  {
    method: 'POST',
    url: events,
    body: event({
      type: 'input.admitted',
      data: { messageId: 'm', kind: 'prompt', text: 'x', delivery: 'queue' },
    }),
    status: 403,
    code: 'reserved_type',
    pointer: '/events/1/type',
  },
  {
    method: 'POST',
    url: events,
    body: event({ type: 'dreamt', data: {} }),
    status: 400,
    code: 'unknown_type',
    pointer: '/events/1/type',
  },
  {
    method: 'POST',
    url: events,
    body: event({ type: 'session.renamed', data: { title: 1 } }),
    status: 400,
    code: 'invalid_body',
    pointer: '/events/1/data/title',
  },
  {
    method: 'POST',
    url: events,
    body: event({ type: 'session.renamed', data: { title: 'x' }, meta: { fence: 1 } }),
    status: 400,
    code: 'invalid_body',
    pointer: '/events/1/meta/fence',
  },
  {
    method: 'POST',
    url: events,
    body: event({ eventId: '', type: 'x.a', data: 1 }),
    status: 400,
    code: 'invalid_id',
    pointer: '/events/1/eventId',
  },
  {
    method: 'POST',
    url: events,
    body: event({ type: 'x.big', data: 'x'.repeat(1_100_000) }),
    status: 413,
    code: 'too_large',
    pointer: '/events/1',
  },
  {
    method: 'POST',
    url: events,
    body: { events: [{ type: 'x.a', data: 1 }], turnId: 'trn_1' },
    status: 400,
    code: 'invalid_body',
    pointer: '/fence',
  },
  {
    method: 'POST',
    url: events,
    body: { events: [{ type: 'x.a', data: 1 }], fence: 1 },
    status: 400,
    code: 'invalid_body',
    pointer: '/turnId',
  },
  {
    method: 'POST',
    url: events,
    body: { events: [{ type: 'x.a', data: 1 }], turnId: 'trn_1', fence: 1.5 },
    status: 400,
    code: 'invalid_body',
    pointer: '/fence',
  },
  {
    method: 'POST',
    url: events,
    body: { events: [{ type: 'x.a', data: 1 }], expectedSeq: '1' },
    status: 400,
    code: 'invalid_body',
    pointer: '/expectedSeq',
  },
  {
    method: 'POST',
    url: events,
    body: { events: [{ type: 'x.a', data: 1 }], expectedSeq: 99 },
    status: 409,
    code: 'expected_seq',
  },
  {
    method: 'POST',
    url: events,
    body: { events: [{ type: 'x.a', data: 1 }] },
    headers: { 'if-match': '"99"' },
    status: 412,
    code: 'precondition_failed',
  },
  {
    method: 'POST',
    url: '/v1/sessions/no_such/events',
    body: { events: [{ type: 'x.a', data: 1 }] },
    status: 404,
    code: 'session_not_found',
  },
  { method: 'GET', url: `${events}?afterSeq=-1`, status: 400, code: 'invalid_query' },
  { method: 'GET', url: `${events}?afterSeq=one`, status: 400, code: 'invalid_query' },
  {
    method: 'GET',
    url: '/v1/sessions/ses_1/messages?atSeq=-1',
    status: 400,
    code: 'invalid_query',
  },
  {
    method: 'GET',
    url: '/v1/sessions/ses_1/messages?atSeq=9999',
    status: 400,
    code: 'invalid_query',
  },
  {
    method: 'GET',
    url: '/v1/sessions/ses_1/messages?include=all',
    status: 400,
    code: 'invalid_query',
  },
  {
    method: 'GET',
    url: '/v1/sessions/ses_1/messages/msg_no',
    status: 404,
    code: 'message_not_found',
  },
  { method: 'GET', url: '/v1/sessions/ses_1/turns/trn_no', status: 404, code: 'turn_not_found' },
  {
    method: 'GET',
    url: '/v1/sessions/ses_1/turns/trn_no?waitMs=x',
    status: 400,
    code: 'invalid_query',
  },
  { method: 'GET', url: '/v1/events?types=a%20b', status: 400, code: 'invalid_query' },
  { method: 'POST', url: '/v1/sessions/ses_1/inputs', body: {}, status: 400, code: 'invalid_body' },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/inputs',
    body: { text: '' },
    status: 400,
    code: 'invalid_body',
  },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/inputs',
    body: { text: 'x', kind: 'song' },
    status: 400,
    code: 'invalid_body',
    pointer: '/kind',
  },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/inputs',
    body: { text: 'x', messageId: 'a/b' },
    status: 400,
    code: 'invalid_id',
    pointer: '/messageId',
  },
  {
    method: 'PATCH',
    url: '/v1/sessions/ses_1/inputs/msg_no',
    body: { delivery: 'steer' },
    status: 404,
    code: 'input_not_found',
  },
  {
    method: 'DELETE',
    url: '/v1/sessions/ses_1/inputs/msg_no',
    status: 404,
    code: 'input_not_found',
  },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/turns',
    body: {},
    status: 400,
    code: 'invalid_body',
    pointer: '/ownerId',
  },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/turns',
    body: { ownerId: 'own', inputs: ['msg_no'] },
    status: 409,
    code: 'dangling_reference',
  },
  {
    method: 'POST',
    url: '/v1/imports',
    body: { origin: { system: 'a' }, events: [] },
    status: 400,
    code: 'invalid_body',
  },
  {
    method: 'POST',
    url: '/v1/imports',
    body: {
      origin: { system: 'a', sessionId: 'a b' },
      events: [{ type: 'session.created', data: {} }],
    },
    status: 400,
    code: 'invalid_id',
  },
  {
    method: 'POST',
    url: '/v1/imports',
    body: {
      origin: { system: 'a', sessionId: 'ses_9' },
      events: [{ type: 'session.viewed', data: {} }],
    },
    status: 400,
    code: 'invalid_body',
    pointer: '/events/0/type',
  },
  {
    method: 'POST',
    url: '/v1/imports',
    body: {
      origin: { system: 'a', sessionId: 'ses_1' },
      events: [{ type: 'session.created', data: { origin: { system: 'a', sessionId: 'ses_1' } } }],
    },
    status: 409,
    code: 'duplicate_id',
  },
  { method: 'DELETE', url: '/v1/sessions/no_such', status: 404, code: 'session_not_found' },
  { method: 'POST', url: '/v1/sessions/ses_1/restore', status: 409, code: 'wrong_state' },
  { method: 'GET', url: '/', status: 404, code: 'route_not_found' },
  { method: 'GET', url: '/v1', status: 404, code: 'route_not_found' },
  { method: 'POST', url: '/v1/nothing', body: {}, status: 404, code: 'route_not_found' },
]

t.test(
  'bad input on every route: a problem with its code and pointer, never a 500, nothing written',
  async (t) => {
    await using database = await openTestDatabase()
    const problems: unknown[] = []
    const report = (problem: unknown): void => void problems.push(problem)
    const log = openLog({ pool: database.pool, report })
    const app = buildApp({ pool: database.pool, log, settings: readSettings({}), report })
    await app.inject({ method: 'POST', url: '/v1/sessions', payload: { sessionId: 'ses_1' } })
    const stored = async () =>
      JSON.stringify(
        await database.pool.use((connection) =>
          connection.query(
            `select (select count(*) from stemma.event) e, (select count(*) from stemma.name) n,
             (select count(*) from stemma.receipt) r, (select count(*) from stemma.session) s,
             (select max(head) from stemma.session) h`,
          ),
        ),
      )
    const before = await stored()
    for (const bad of [...ofEveryBody, ...ofEveryRead, ...limits, ...cursors, ...particular]) {
      const { method, url, body, raw, headers = {} } = bad
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const reply = await app.inject({
        method,
        url,
        headers: { ...(body !== undefined && json), ...headers },
        ...(payload !== undefined && { payload }),
      })
      const name = `${method} ${url.slice(0, 60)} ${String(payload ?? '').slice(0, 60)} ${JSON.stringify(headers).slice(0, 40)}`
      const problem = reply.json<{
        status?: number
        code?: string
        errors?: { pointer: string }[]
      }>()
      const found = {
        status: reply.statusCode,
        code: problem.code,
        ...(bad.pointer !== undefined && { pointer: problem.errors?.[0]?.pointer }),
      }
      const wanted = {
        status: bad.status,
        code: bad.code,
        ...(bad.pointer !== undefined && { pointer: bad.pointer }),
      }
      t.same(found, wanted, name)
      t.match(reply.headers['content-type'], /^application\/problem\+json/)
      t.equal(problem.status, reply.statusCode)
    }
    t.equal(await stored(), before, 'nothing was written')
    t.same(problems, [], 'and nothing was our fault')
    await app.close()
    await log[Symbol.asyncDispose]()
  },
)
