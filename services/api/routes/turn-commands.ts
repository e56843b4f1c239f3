import { TurnParams } from '../../../schema/http/params.ts'
import {
  ClaimTurn,
  ClaimTurnReply,
  InterruptTurn,
  ReleaseTurn,
  ReleaseTurnReply,
  TurnReply,
} from '../../../schema/http/turns.ts'
import type { CommandOptions, Target } from '../../log/command.ts'
import { newId } from '../../log/new-id.ts'
import { readTurn } from '../../reads/read-turn.ts'
import type { RouteDeps } from '../deps.ts'
import { forTree } from '../for-tree.ts'
import { setEtag } from '../plugins/if-match.ts'
import { principalOf } from '../plugins/principal.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

/** Claim, release and interrupt. */
export const addTurnCommandRoutes = (app: App, deps: RouteDeps): void => {
  const { pool, log } = deps

  app.post(
    '/v1/sessions/:sessionId/turns/:turnId/claim',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Take a turn over',
        description:
          'From an owner that is gone or has released it. The report names all that passes on ' +
          'and what was closed: a call that is `unknown` is never dispatched again.',
        params: TurnParams,
        body: ClaimTurn,
        response: { 200: ClaimTurnReply },
      },
    },
    async (request, reply) => {
      const outcome = await log.execute({
        ...targetOf(request, request.params),
        ...optionsOf(request),
        ...request.body,
        kind: 'claim-turn',
        turnId: request.params.turnId,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      return { data: outcome.turn }
    },
  )

  app.post(
    '/v1/sessions/:sessionId/turns/:turnId/release',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Give a turn up',
        description: 'Its owner is fenced from here on, and anyone may claim it.',
        params: TurnParams,
        body: ReleaseTurn,
        response: { 200: ReleaseTurnReply },
      },
    },
    async (request, reply) => {
      const outcome = await log.execute({
        ...targetOf(request, request.params),
        ...optionsOf(request),
        ...request.body,
        kind: 'release-turn',
        turnId: request.params.turnId,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      return { data: outcome.turn }
    },
  )

  app.post(
    '/v1/sessions/:sessionId/turns/:turnId/interrupt',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Ask to stop a turn',
        description:
          'The end of the turn carries the first reason and author. Where its owner is gone, or ' +
          'after `graceMs`, the store ends the turn itself. Gives the turn as it is then.',
        params: TurnParams,
        body: InterruptTurn,
        response: { 200: TurnReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { turnId } = request.params
      const { reason, device, graceMs, tree = false } = request.body
      const { subject } = principalOf(request)
      const by = { subject, ...(device !== undefined && { device }) }
      const interrupt = (member: Target, more: CommandOptions & { turnId?: string }) =>
        log.execute({
          ...member,
          ...more,
          kind: 'interrupt-turn',
          reason,
          by,
          ...(graceMs !== undefined && { graceMs }),
          eventId: newId('evt'),
        })
      const ofRoot = { ...optionsOf(request), turnId }
      if (tree) {
        await forTree(deps, target, {
          on: (member, isRoot) => interrupt(member, isRoot ? ofRoot : {}),
          already: ['turn_settled', 'no_turn'],
        })
      } else await interrupt(target, ofRoot)
      const turn = await readTurn(pool, target, turnId)
      setEtag(reply, turn.asOfSeq)
      return turn
    },
  )
}
