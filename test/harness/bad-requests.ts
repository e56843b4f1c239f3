/** Requests that are wrong in ways that any route may meet. */

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
/** A request that must be refused, and how. */
export type Bad = {
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

export const json = { 'content-type': 'application/json' }
export const longId = 'x'.repeat(129)

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
  { method: 'POST', url: '/v1/sessions/ses_1/turns', good: { ownerId: 'own', incarnation: 1 } },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/turns/trn_1/claim',
    good: { ownerId: 'own', incarnation: 1, fromFence: 1 },
  },
  { method: 'POST', url: '/v1/sessions/ses_1/turns/trn_1/release', good: { fence: 1 } },
  { method: 'POST', url: '/v1/sessions/ses_1/turns/trn_1/interrupt', good: { reason: 'x' } },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/requests/req_1/answer',
    good: { answers: [['x']] },
  },
  { method: 'POST', url: '/v1/sessions/ses_1/requests/req_1/close', good: { reason: 'rejected' } },
  { method: 'POST', url: '/v1/owners', good: { ownerId: 'own', lifetime: 'process' } },
  { method: 'PUT', url: '/v1/owners/own/heartbeat', good: { incarnation: 1 } },
  { method: 'DELETE', url: '/v1/owners/own', good: { incarnation: 1 } },
  { method: 'POST', url: '/v1/owners/own/exited', good: { incarnation: 1, reason: 'x' } },
  {
    method: 'POST',
    url: '/v1/sessions/ses_1/live',
    good: { frames: [{ messageId: 'm', partId: 'p', kind: 'text', offset: 0, delta: 'x' }] },
  },
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
  '/v1/sessions/ses_1/permissions',
  '/v1/owners/own_1/turns',
  '/v1/requests',
  '/v1/work',
]

export const ofEveryBody: readonly Bad[] = bodies.flatMap(({ method, url, good }): Bad[] => {
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
    ...(/ses_1|own\b/.test(url)
      ? [
          {
            ...at,
            url: url.replace(/ses_1|own\b/, longId),
            body: good,
            status: 400,
            code: 'invalid_id',
          } as const,
        ]
      : []),
  ]
})

export const ofEveryRead: readonly Bad[] = reads.flatMap((url): Bad[] => [
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

export const limits: readonly Bad[] = [
  '/v1/sessions',
  '/v1/events',
  '/v1/sessions/ses_1/events',
  '/v1/sessions/ses_1/messages',
  '/v1/sessions/ses_1/turns',
  '/v1/owners/own_1/turns',
  '/v1/requests',
  '/v1/work',
].flatMap((url) =>
  ['0', '-1', '501', '1e2', '0x10', ' 5', 'ten', '', '99999999999999999999'].map((limit): Bad => ({
    method: 'GET',
    url: `${url}?limit=${encodeURIComponent(limit)}`,
    status: 400,
    code: 'invalid_limit',
  })),
)

export const cursors: readonly Bad[] = [
  '/v1/sessions?cursor=',
  '/v1/events?after=',
  '/v1/sessions/ses_1/messages?cursor=',
  '/v1/sessions/ses_1/turns?cursor=',
  '/v1/owners/own_1/turns?cursor=',
  '/v1/requests?cursor=',
  '/v1/work?after=',
].flatMap((url) =>
  ['x', '%00', 'AAAAAAAAAAAAAAAA', '../../etc'].map((cursor): Bad => ({
    method: 'GET',
    url: `${url}${cursor}`,
    status: 400,
    code: 'invalid_cursor',
  })),
)
