import type { Bad } from './bad-requests.ts'

/** Owners as no owner is, of a store that knows `own` in its first incarnation. */
export const ofOwners: readonly Bad[] = (
  [
    { body: {}, status: 400, code: 'invalid_body', pointer: '/lifetime' },
    { body: { lifetime: 'ever' }, status: 400, code: 'invalid_body', pointer: '/lifetime' },
    {
      body: { lifetime: 'process', ttlMs: 1_000 },
      status: 400,
      code: 'invalid_body',
      pointer: '/ttlMs',
    },
    ...[0, 99, 86_400_001, 1.5, '1000'].map(
      (ttlMs) =>
        ({
          body: { lifetime: 'lease', ttlMs },
          status: 400,
          code: 'invalid_body',
          pointer: '/ttlMs',
        }) as const,
    ),
    ...['', 'a\0', '\ud800', 'x'.repeat(256), 1].map(
      (host) =>
        ({
          body: { lifetime: 'process', host },
          status: 400,
          code: 'invalid_body',
          pointer: '/host',
        }) as const,
    ),
    {
      body: { lifetime: 'process', ownerId: 'a b' },
      status: 400,
      code: 'invalid_id',
      pointer: '/ownerId',
    },
    {
      url: '/v1/owners/own/exited',
      body: { incarnation: 1, reason: 'a\0' },
      status: 400,
      code: 'invalid_body',
      pointer: '/reason',
    },
    {
      url: '/v1/owners/own/exited',
      body: { incarnation: 1, reason: '' },
      status: 400,
      code: 'invalid_body',
      pointer: '/reason',
    },
    {
      url: '/v1/owners/nobody/exited',
      body: { incarnation: 1, reason: 'x' },
      status: 404,
      code: 'owner_not_found',
    },
    {
      method: 'PUT',
      url: '/v1/owners/own/heartbeat',
      body: { incarnation: 0 },
      status: 400,
      code: 'invalid_body',
      pointer: '/incarnation',
    },
    {
      method: 'PUT',
      url: '/v1/owners/nobody/heartbeat',
      body: { incarnation: 1 },
      status: 404,
      code: 'owner_not_found',
    },
    {
      method: 'PUT',
      url: '/v1/owners/own/heartbeat',
      body: { incarnation: 2 },
      status: 409,
      code: 'wrong_state',
    },
    {
      method: 'PUT',
      url: '/v1/owners/own/heartbeat',
      body: { incarnation: 1 },
      headers: { 'if-match': '"1"' },
      status: 400,
      code: 'invalid_header',
    },
    {
      method: 'DELETE',
      url: '/v1/owners/nobody',
      body: { incarnation: 1 },
      status: 404,
      code: 'owner_not_found',
    },
    { method: 'DELETE', url: '/v1/owners/own', status: 400, code: 'invalid_body' },
    { method: 'GET', url: '/v1/owners/nobody', status: 404, code: 'owner_not_found' },
    { method: 'GET', url: '/v1/owners/a%20b', status: 400, code: 'invalid_id' },
    { method: 'GET', url: '/v1/owners/own?a=1', status: 400, code: 'invalid_query' },
  ] as const
).map((bad): Bad => ({ method: 'POST', url: '/v1/owners', ...bad }))

const start = { ownerId: 'own', incarnation: 1 }
const turn = '/v1/sessions/ses_1/turns/trn_1'

/** In a session that never had a turn. */
export const ofTurns: readonly Bad[] = (
  [
    { body: { ownerId: 'own' }, status: 400, code: 'invalid_body', pointer: '/incarnation' },
    { body: { ...start, ownerId: 'nobody' }, status: 404, code: 'owner_not_found' },
    { body: { ...start, incarnation: 2 }, status: 409, code: 'wrong_state' },
    { body: { ...start, resumes: ['req_no'] }, status: 409, code: 'dangling_reference' },
    {
      url: `${turn}/claim`,
      body: { ...start, fromFence: -1 },
      status: 400,
      code: 'invalid_body',
      pointer: '/fromFence',
    },
    { url: `${turn}/claim`, body: { ...start, fromFence: 1 }, status: 404, code: 'turn_not_found' },
    { url: `${turn}/release`, body: { fence: 1 }, status: 404, code: 'turn_not_found' },
    { url: `${turn}/interrupt`, body: { reason: 'x' }, status: 404, code: 'turn_not_found' },
    {
      url: `${turn}/interrupt`,
      body: { reason: '' },
      status: 400,
      code: 'invalid_body',
      pointer: '/reason',
    },
    {
      url: `${turn}/interrupt`,
      body: { reason: 'x', graceMs: -1 },
      status: 400,
      code: 'invalid_body',
      pointer: '/graceMs',
    },
    {
      url: `${turn.replace('ses_1', 'no_such')}/claim`,
      body: { ...start, fromFence: 1 },
      status: 404,
      code: 'session_not_found',
    },
  ] as const
).map((bad): Bad => ({ method: 'POST', url: '/v1/sessions/ses_1/turns', ...bad }))

const request = '/v1/sessions/ses_1/requests/req_1'

/** In a session that never was asked. */
export const ofRequests: readonly Bad[] = (
  [
    { body: {}, status: 400, code: 'invalid_body', pointer: '' },
    { body: { answers: [['a']], decision: 'allow_once' }, status: 400, code: 'invalid_body' },
    {
      body: { answers: [['a']], message: 'x' },
      status: 400,
      code: 'invalid_body',
      pointer: '/message',
    },
    { body: { decision: 'maybe' }, status: 400, code: 'invalid_body', pointer: '/decision' },
    {
      body: { answers: [['a']], messageId: 'a b' },
      status: 400,
      code: 'invalid_id',
      pointer: '/messageId',
    },
    { body: { answers: [['a']] }, status: 404, code: 'request_not_found' },
    {
      url: `${request}/close`,
      body: { reason: 'expired' },
      status: 400,
      code: 'invalid_body',
      pointer: '/reason',
    },
    {
      url: `${request}/close`,
      body: { reason: 'rejected' },
      status: 404,
      code: 'request_not_found',
    },
    {
      method: 'DELETE',
      url: '/v1/sessions/ses_1/permissions/req_1',
      status: 404,
      code: 'permission_not_found',
    },
  ] as const
).map((bad): Bad => ({ method: 'POST', url: `${request}/answer`, ...bad }))
