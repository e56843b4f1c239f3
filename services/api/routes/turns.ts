import { SessionParams, TurnParams } from '../../../schema/http/params.ts'
import {
  ListTurns,
  ReadTurn,
  StartTurn,
  StartTurnReply,
  TurnReply,
  TurnsPage,
} from '../../../schema/http/turns.ts'
import { newId } from '../../log/new-id.ts'
import { readTurns } from '../../reads/read-turns.ts'
import { decodeCursor, encodeCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { limitOf } from '../page-limit.ts'
import { setEtag } from '../plugins/if-match.ts'
import { idFor, optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'
import { waitForTurn } from '../wait-for-turn.ts'

export const addTurnRoutes = (app: App, deps: RouteDeps): void => {
  app.post(
    '/v1/sessions/:sessionId/turns',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Start a turn',
        description:
          'Takes up the waiting inputs that it names. The fence goes with every event of the turn; ' +
          'the turn ends by appending `turn.ended`.',
        params: SessionParams,
        body: StartTurn,
        response: { 201: StartTurnReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const {
        turnId = idFor(request, 'trn', target.sessionId),
        inputs = [],
        ...given
      } = request.body
      const outcome = await deps.log.execute({
        ...target,
        ...optionsOf(request),
        ...given,
        kind: 'start-turn',
        turnId,
        inputs,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      reply.code(201)
      reply.header('location', `/v1/sessions/${target.sessionId}/turns/${turnId}`)
      return { data: outcome.turn }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/turns',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The turns of a session',
        params: SessionParams,
        querystring: ListTurns,
        response: { 200: TurnsPage },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { cursor, order = 'asc' } = request.query
      const scope: CursorScope = {
        route: `GET /v1/sessions/:sessionId/turns of ${await incarnationOf(deps.pool)}`,
        ...target,
        filters: { order },
      }
      const page = await readTurns(deps.pool, target, {
        limit: limitOf(request.query, deps.settings),
        order,
        ...(cursor !== undefined && { after: Number(decodeCursor(scope, cursor)[0]) }),
      })
      setEtag(reply, page.asOfSeq)
      const next = page.next === undefined ? null : encodeCursor(scope, [page.next])
      return { data: page.data, cursor: { next, previous: null }, asOfSeq: page.asOfSeq }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/turns/:turnId',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'One turn',
        description: 'With `waitMs` the reply waits until the turn has ended, or the time is over.',
        params: TurnParams,
        querystring: ReadTurn,
        response: { 200: TurnReply },
      },
    },
    async (request, reply) => {
      const { waitMs = 0 } = request.query
      const gone = new AbortController()
      request.raw.once('close', () => gone.abort())
      const turn = await waitForTurn(deps, targetOf(request, request.params), {
        turnId: request.params.turnId,
        waitMs,
        signal: AbortSignal.any([gone.signal, deps.stopping]),
      })
      setEtag(reply, turn.asOfSeq)
      return turn
    },
  )
}
