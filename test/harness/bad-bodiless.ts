import { json, longId, type Bad } from './bad-requests.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Writes that take no body, so that any is one too many. */
export const ofNoBody: readonly Bad[] = (
  [
    ['DELETE', '/v1/sessions/ses_1'],
    ['POST', '/v1/sessions/ses_1/restore'],
    ['POST', '/v1/sessions/ses_1/archive'],
    ['POST', '/v1/sessions/ses_1/unarchive'],
    ['DELETE', '/v1/sessions/ses_1/inputs/msg_1'],
    ['DELETE', '/v1/sessions/ses_1/permissions/req_1'],
  ] as const
).flatMap(([method, url]): Bad[] => {
  const at = { method, url }
  return [
    { ...at, body: { a: 1 }, status: 400, code: 'invalid_body', pointer: '/a' },
    { ...at, body: [], status: 400, code: 'invalid_body', pointer: '' },
    { ...at, body: null, status: 400, code: 'invalid_body', pointer: '' },
    { ...at, raw: '{', headers: json, status: 400, code: 'invalid_json', pointer: '' },
    { ...at, raw: 'a=1', headers: form, status: 415, code: 'unsupported_media_type' },
    { ...at, headers: { 'idempotency-key': '' }, status: 400, code: 'invalid_header' },
    { ...at, headers: { 'if-match': '*' }, status: 400, code: 'invalid_header' },
    { ...at, headers: { 'if-match': '"1", "2"' }, status: 400, code: 'invalid_header' },
    { ...at, headers: { 'if-match': '"99"' }, status: 412, code: 'precondition_failed' },
    { ...at, url: `${url}?force=true`, status: 400, code: 'invalid_query' },
    { ...at, url: url.replace('ses_1', longId), status: 400, code: 'invalid_id' },
    { ...at, url: url.replace('ses_1', 'no_such'), status: 404, code: 'session_not_found' },
    { ...at, method: 'PUT', status: 405, code: 'method_not_allowed' },
  ]
})

/** Writes that may be to a tree: its conditions are the root's. */
export const ofTrees: readonly Bad[] = (
  [
    ['DELETE', '/v1/sessions/ses_1'],
    ['POST', '/v1/sessions/ses_1/archive'],
    ['POST', '/v1/sessions/ses_1/unarchive'],
  ] as const
).flatMap(([method, url]): Bad[] => {
  const at = { method, url: `${url}?tree=true` }
  return [
    { ...at, url: `${url}?tree=yes`, status: 400, code: 'invalid_query', pointer: '/tree' },
    { ...at, url: `${url}?tree`, status: 400, code: 'invalid_query', pointer: '/tree' },
    { ...at, url: `${at.url}&tree=true`, status: 400, code: 'invalid_query', pointer: '/tree' },
    { ...at, headers: { 'if-match': '"99"' }, status: 412, code: 'precondition_failed' },
    { ...at, url: at.url.replace('ses_1', 'no_such'), status: 404, code: 'session_not_found' },
  ]
})

/** A ticket is for the caller, and about nothing. */
export const ofTickets: readonly Bad[] = (
  [
    { body: { ttl: 1 }, status: 400, code: 'invalid_body', pointer: '/ttl' },
    { body: [], status: 400, code: 'invalid_body', pointer: '' },
    { raw: '{', headers: json, status: 400, code: 'invalid_json', pointer: '' },
    { raw: 'a=1', headers: form, status: 415, code: 'unsupported_media_type' },
    { url: '/v1/tickets?token=x', status: 400, code: 'invalid_query' },
    { method: 'GET', status: 405, code: 'method_not_allowed' },
  ] as const
).map((bad): Bad => ({ method: 'POST', url: '/v1/tickets', ...bad }))

const one = { sessionId: 'ses_1', afterSeq: 0 }

/** A read that takes a body. */
export const ofSync: readonly Bad[] = (
  [
    { body: {}, status: 400, code: 'invalid_body', pointer: '/sessions' },
    { body: [], status: 400, code: 'invalid_body', pointer: '' },
    { body: { sessions: [] }, status: 400, code: 'invalid_body', pointer: '/sessions' },
    { body: { sessions: [one], a: 1 }, status: 400, code: 'invalid_body', pointer: '/a' },
    { body: { sessions: [one], log: 1 }, status: 400, code: 'invalid_body', pointer: '/log' },
    {
      body: { sessions: Array.from({ length: 101 }, () => one) },
      status: 400,
      code: 'invalid_body',
      pointer: '/sessions',
    },
    {
      body: { sessions: [one, { ...one, a: 1 }] },
      status: 400,
      code: 'invalid_body',
      pointer: '/sessions/1/a',
    },
    {
      body: { sessions: [{ ...one, sessionId: 'a b' }] },
      status: 400,
      code: 'invalid_id',
      pointer: '/sessions/0/sessionId',
    },
    ...[-1, 1.5, '1', null].map(
      (afterSeq) =>
        ({
          body: { sessions: [{ ...one, afterSeq }] },
          status: 400,
          code: 'invalid_body',
          pointer: '/sessions/0/afterSeq',
        }) as const,
    ),
    { raw: '{', headers: json, status: 400, code: 'invalid_json', pointer: '' },
    { raw: 'a=1', headers: form, status: 415, code: 'unsupported_media_type' },
    { url: '/v1/sync?a=1', body: { sessions: [one] }, status: 400, code: 'invalid_query' },
    { method: 'GET', status: 405, code: 'method_not_allowed' },
  ] as const
).map((bad): Bad => ({ method: 'POST', url: '/v1/sync', ...bad }))

/** What operators ask: there is nothing to get wrong but the method. */
export const withoutInput: readonly string[] = [
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/v1/stream',
]

export const ofNoInput: readonly Bad[] = withoutInput.map((url): Bad => ({
  method: 'POST',
  url,
  body: {},
  status: 405,
  code: 'method_not_allowed',
}))

/** Times that the calendar, RFC 3339 or the database does not have. */
export const times: readonly Bad[] = [
  'yesterday',
  '2026-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00+16:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-01:00',
  1,
].map((occurredAt): Bad => ({
  method: 'POST',
  url: '/v1/sessions/ses_1/events',
  body: { events: [{ type: 'x.a', data: 1, occurredAt }] },
  status: 400,
  code: 'invalid_body',
  pointer: '/events/0/occurredAt',
}))
