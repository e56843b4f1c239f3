import {
  ListOwnerTurns,
  OwnerExited,
  OwnerExitedReply,
  OwnerReply,
  OwnersOwn,
  OwnerTurnsPage,
  RegisterOwner,
} from '../../../schema/http/owners.ts'
import { OwnerParams } from '../../../schema/http/params.ts'
import { Refusal } from '../../../schema/errors.ts'
import { endOwner } from '../../owners/end-owner.ts'
import { failTurns } from '../../owners/fail-turns.ts'
import { keepAlive } from '../../owners/keep-alive.ts'
import { readOwner } from '../../owners/read-owner.ts'
import { registerOwner } from '../../owners/register-owner.ts'
import { readOwnerTurns } from '../../reads/owner-turns.ts'
import { decodeCursor, encodeCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { limitOf } from '../page-limit.ts'
import { idempotencyKeyOf } from '../plugins/idempotency.ts'
import { principalOf, type Principal } from '../plugins/principal.ts'
import { idFor } from '../target.ts'
import type { AnyRequest, App } from '../type-provider.ts'

const usualTtlMs = 30_000

/** Owners: the agent servers that run turns. */
export const addOwnerRoutes = (app: App, { pool, log, settings }: RouteDeps): void => {
  app.post(
    '/v1/owners',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Register an owner',
        description:
          'Each registration is an incarnation; a later one makes the turns of the earlier ones ' +
          'claimable. A turn is started and claimed with both.',
        body: RegisterOwner,
        response: { 201: OwnerReply },
      },
    },
    async (request, reply) => {
      const { ownerId = idFor(request, 'own'), lifetime, ttlMs, host } = request.body
      if (lifetime === 'process' && ttlMs !== undefined) {
        throw new Refusal('invalid_body', 'an owner without a lease has no ttlMs', {
          faults: [{ pointer: '/ttlMs', detail: 'must not be there: the lifetime is process' }],
        })
      }
      const commandId = idempotencyKeyOf(request)
      const data = await registerOwner(pool, {
        tenant: callerOf(request).tenant,
        ownerId,
        lifetime,
        ...(lifetime === 'lease' && { ttlMs: ttlMs ?? usualTtlMs }),
        ...(host !== undefined && { host }),
        ...(commandId !== undefined && { commandId }),
      })
      reply.code(201)
      reply.header('location', `/v1/owners/${ownerId}`)
      return { data }
    },
  )

  app.get(
    '/v1/owners/:ownerId',
    {
      config: { scope: 'read' },
      schema: { summary: 'One owner', params: OwnerParams, response: { 200: OwnerReply } },
    },
    async (request) => {
      const { tenant } = principalOf(request)
      return { data: await pool.use((c) => readOwner(c, tenant, request.params.ownerId)) }
    },
  )

  app.get(
    '/v1/owners/:ownerId/turns',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The active turns of an owner',
        params: OwnerParams,
        querystring: ListOwnerTurns,
        response: { 200: OwnerTurnsPage },
      },
    },
    async (request) => {
      const { tenant } = principalOf(request)
      const { ownerId } = request.params
      const { cursor } = request.query
      const scope: CursorScope = {
        route: `GET /v1/owners/:ownerId/turns of ${await incarnationOf(pool)}`,
        tenant,
        filters: { ownerId },
      }
      const page = await readOwnerTurns(pool, {
        tenant,
        ownerId,
        limit: limitOf(request.query, settings),
        ...(cursor !== undefined && { after: Number(decodeCursor(scope, cursor)[0]) }),
      })
      const next = page.next === undefined ? null : encodeCursor(scope, [page.next])
      return { data: page.data, cursor: { next, previous: null } }
    },
  )

  app.put(
    '/v1/owners/:ownerId/heartbeat',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Keep an owner alive',
        description: 'One heartbeat for all that the owner runs.',
        params: OwnerParams,
        body: OwnersOwn,
        response: { 200: OwnerReply },
      },
    },
    async (request) => {
      const { tenant } = callerOf(request)
      return { data: await keepAlive(pool, { tenant, ...request.params, ...request.body }) }
    },
  )

  app.delete(
    '/v1/owners/:ownerId',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Leave',
        description: 'The owner itself has exited (`left`): its turns may be claimed at once.',
        params: OwnerParams,
        body: OwnersOwn,
        response: { 204: { type: 'null' } },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request)
      await endOwner(pool, { tenant, ...request.params, ...request.body, reason: 'left' })
      return reply.code(204).send()
    },
  )

  app.post(
    '/v1/owners/:ownerId/exited',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Report that an owner has exited',
        description:
          'By its supervisor. Its turns may be claimed at once, or are ended as failed (`fail`).',
        params: OwnerParams,
        body: OwnerExited,
        response: { 200: OwnerExitedReply },
      },
    },
    async (request) => {
      const { tenant } = callerOf(request)
      const { incarnation, reason, fail = false } = request.body
      const exit = { tenant, ...request.params, incarnation, reason }
      const data = await endOwner(pool, exit)
      return { data, failed: fail ? await failTurns({ pool, log }, exit) : [] }
    },
  )
}

/** Who writes, with headers that a write about an owner can honour. Throws Refusal `invalid_header`. */
const callerOf = (request: AnyRequest): Principal => {
  idempotencyKeyOf(request)
  if (request.headers['if-match'] !== undefined) {
    throw new Refusal(
      'invalid_header',
      'If-Match names the head of a session, and an owner has none',
    )
  }
  return principalOf(request)
}
