import { Type, type Static } from 'typebox'
import { ownerOrStore, store, type EventFamily } from './event-family.ts'
import { CallEffect } from './call.ts'
import { Attempt, By, CloseReason, Decision, EventError, Fence, Id, strict } from './shapes.ts'

/** Of a registered owner: from 1. An import may have 0, of an owner that never registered. */
const Incarnation = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** A day. */
export const mostGraceMs = 86_400_000

/** What became of a call that was unsettled when its turn changed hands (rule 11). */
const CallReport = strict({
  messageId: Id,
  callId: Id,
  was: Type.Union([
    Type.Literal('streaming'),
    Type.Literal('streamed'),
    Type.Literal('called'),
    Type.Literal('dispatched'),
  ]),
  now: Type.Union(
    [
      Type.Literal('streamed'),
      Type.Literal('called'),
      Type.Literal('waiting'),
      Type.Literal('dispatched'),
      Type.Literal('cancelled'),
      Type.Literal('unknown'),
    ],
    {
      description:
        '`called`: may be dispatched; `waiting`: its request is open; `dispatched`: its child ' +
        'session runs; `cancelled` and `unknown`: settled so; `streamed`: its input is whole, and it was never called',
    },
  ),
  effect: Type.Optional(CallEffect),
  requestId: Type.Optional(Id),
  childSessionId: Type.Optional(Id),
  answered: Type.Optional(Type.Literal(true)),
  /** A permission that was given and not used yet: it must be asked for again if it is void (rule 18). */
  decision: Type.Optional(Decision),
  void: Type.Optional(Type.Literal(true)),
  closed: Type.Optional(CloseReason),
})

/** All that passes on to who takes a turn over, and what was closed for it. */
export const TakeOverReport = strict({
  step: Type.Optional(
    strict({
      messageId: Id,
      attempt: Attempt,
      now: Type.Union([Type.Literal('open'), Type.Literal('failed')]),
      finish: Type.Optional(Type.String({ description: 'to end the step with' })),
    }),
  ),
  calls: Type.Array(CallReport),
  unknown: Type.Optional(
    Type.Array(strict({ messageId: Id, callId: Id }), {
      description:
        'calls that were unknown before, and of which nobody has said what became of them',
    }),
  ),
  requests: Type.Array(Id, { description: 'open: they keep their ids' }),
  inputs: Type.Array(Id, { description: 'waiting' }),
  parts: Type.Array(Id, { description: 'ended as partial' }),
  epochs: Type.Array(Id, { description: 'failed' }),
  compactions: Type.Array(Id, { description: 'failed' }),
  interrupted: Type.Optional(Type.Literal(true)),
})
export type TakeOverReport = Static<typeof TakeOverReport>

export const turnEvents = {
  'turn.started': store(
    strict({
      turnId: Id,
      ownerId: Id,
      incarnation: Type.Optional(Incarnation),
      fence: Fence,
      inputs: Type.Array(Id),
      resumes: Type.Optional(Type.Array(Id)),
    }),
  ),
  'turn.claimed': store(
    strict({
      turnId: Id,
      ownerId: Id,
      incarnation: Type.Optional(Incarnation),
      fromOwnerId: Id,
      fromFence: Fence,
      fence: Fence,
      report: TakeOverReport,
    }),
  ),
  'turn.released': store(strict({ turnId: Id, fence: Fence })),
  'turn.interrupt.requested': store(
    strict({
      turnId: Id,
      reason: Type.String(),
      by: By,
      graceMs: Type.Optional(Type.Integer({ minimum: 0, maximum: mostGraceMs })),
    }),
  ),
  'turn.ended': ownerOrStore(
    strict({
      turnId: Id,
      outcome: Type.Union([
        Type.Literal('completed'),
        Type.Literal('failed'),
        Type.Literal('interrupted'),
      ]),
      fence: Fence,
      stopReason: Type.Optional(Type.String()),
      error: Type.Optional(EventError),
      interrupt: Type.Optional(strict({ reason: Type.String(), by: By })),
    }),
  ),
} as const satisfies EventFamily
