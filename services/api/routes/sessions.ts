import { SessionParams } from '../../../schema/http/params.ts'
import {
  CreateSession,
  ListSessions,
  PatchSession,
  SessionReply,
  SessionsPage,
} from '../../../schema/http/sessions.ts'
import type { Target } from '../../log/command.ts'
import { listSessions, type SessionsCursor } from '../../reads/list-sessions.ts'
import { readSessionInfo, type Session } from '../../reads/session.ts'
import { checkParent } from '../check-parent.ts'
import { decodeCursor, encodeCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { newEvent } from '../new-event.ts'
import { limitOf } from '../page-limit.ts'
import { patchSession } from '../patch-session.ts'
import { setEtag } from '../plugins/if-match.ts'
import { principalOf } from '../plugins/principal.ts'
import { idFor, optionsOf, targetOf } from '../target.ts'
import type { AnyReply, App } from '../type-provider.ts'

export const addSessionRoutes = (app: App, deps: RouteDeps): void => {
  const { pool, log, settings } = deps

  const send = async (reply: AnyReply, target: Target): Promise<{ data: Session }> => {
    const data = await readSessionInfo(pool, target)
    setEtag(reply, data.headSeq)
    return { data }
  }

  app.post(
    '/v1/sessions',
    {
      config: { scope: 'append', bodyMayBeMissing: true },
      schema: {
        summary: 'Create a session',
        description: 'A `parent` must be there and not deleted.',
        body: CreateSession,
        response: { 201: SessionReply },
      },
    },
    async (request, reply) => {
      const { sessionId = idFor(request, 'ses'), ...data } = request.body
      const target = targetOf(request, { sessionId })
      const event = newEvent('session.created', data, settings.maxEventBytes)
      if (data.parent) await checkParent(deps, target, data.parent.sessionId)
      await log.execute({ ...target, ...optionsOf(request), kind: 'create', event })
      reply.code(201)
      reply.header('location', `/v1/sessions/${sessionId}`)
      return send(reply, target)
    },
  )

  app.get(
    '/v1/sessions',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'List sessions',
        description: 'Deleted ones are not listed, archived ones only with `status=archived`.',
        querystring: ListSessions,
        response: { 200: SessionsPage },
      },
    },
    async (request) => {
      const { tenant } = principalOf(request)
      const { cursor, limit: _, order = 'created', ...filters } = request.query
      const limit = limitOf(request.query, settings)
      const scope: CursorScope = {
        route: `GET /v1/sessions of ${await incarnationOf(pool)}`,
        tenant,
        filters: { ...filters, order },
      }
      const page = await listSessions(pool, {
        tenant,
        limit,
        order,
        ...filters,
        ...(cursor !== undefined && { cursor: placeOf(decodeCursor(scope, cursor)) }),
      })
      const next = page.next ? encodeCursor(scope, membersOf(page.next)) : null
      return { data: page.data, cursor: { next, previous: null } }
    },
  )

  app.get(
    '/v1/sessions/:sessionId',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'One session',
        params: SessionParams,
        response: { 200: SessionReply },
      },
    },
    async (request, reply) => send(reply, targetOf(request, request.params)),
  )

  app.patch(
    '/v1/sessions/:sessionId',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Rename a session, change its metadata',
        description: 'A merge patch (RFC 7396).',
        params: SessionParams,
        body: PatchSession,
        response: { 200: SessionReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      await patchSession(deps, target, request.body, optionsOf(request))
      return send(reply, target)
    },
  )
}

const membersOf = (at: SessionsCursor): readonly (string | number)[] => {
  if (at.order === 'created') return ['created', at.sid]
  return at.phase === 1 ? ['unchanged', at.began, at.touched] : ['changed', at.touched]
}

const placeOf = ([walk, ...members]: readonly (string | number)[]): SessionsCursor => {
  const [a, b] = members as [number, number]
  if (walk === 'created') return { order: 'created', sid: a }
  return walk === 'unchanged'
    ? { order: 'updated', phase: 1, began: a, touched: b }
    : { order: 'updated', phase: 2, touched: a }
}
