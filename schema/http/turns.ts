import { Type, type Static } from 'typebox'
import { By, Fence, Id, Seq, strict } from '../events/shapes.ts'
import { mostGraceMs, TakeOverReport, turnEvents } from '../events/turn.ts'
import { Incarnation } from './owners.ts'
import { AsOfSeq, Cursor, dataOf, Limit, PageCursor, reply } from './page.ts'

const started = turnEvents['turn.started'].data.properties
const ended = turnEvents['turn.ended'].data.properties

export const StartTurn = strict({
  turnId: Type.Optional(Id),
  ownerId: Id,
  incarnation: Incarnation,
  inputs: Type.Optional(
    Type.Array(Id, { maxItems: 256, uniqueItems: true, description: 'waiting inputs to take up' }),
  ),
  resumes: Type.Optional(Type.Array(Id, { maxItems: 256, uniqueItems: true })),
})
export type StartTurn = Static<typeof StartTurn>

export const StartTurnReply = dataOf(reply({ turnId: Id, fence: Fence }))

export const ClaimTurn = strict({
  ownerId: Id,
  incarnation: Incarnation,
  fromFence: Fence,
})

export const ClaimTurnReply = dataOf(reply({ turnId: Id, fence: Fence, report: TakeOverReport }))

export const ReleaseTurn = strict({ fence: Fence })

export const ReleaseTurnReply = StartTurnReply

export const InterruptTurn = strict({
  reason: Type.String({ minLength: 1, maxLength: 1_000 }),
  device: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  graceMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: mostGraceMs,
      description:
        'after which the store ends the turn itself; 0: at once; left out: its owner ends it, ' +
        'unless it is gone',
    }),
  ),
  tree: Type.Optional(
    Type.Boolean({ description: 'the running turns of all descendants of the session, too' }),
  ),
})

export const ReadTurn = strict({
  waitMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 30_000,
      description: 'how long the reply may wait for the turn to end',
    }),
  ),
})

const TurnClaim = reply({
  ownerId: Id,
  incarnation: Type.Optional(Type.Integer()),
  fromOwnerId: Id,
  fromFence: Fence,
  fence: Fence,
  seq: Seq,
  at: Type.String({ format: 'date-time' }),
})

export const ListTurns = strict({
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
  order: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
      description: '`asc` (default): the newest last',
    }),
  ),
})

export const Turn = reply({
  turnId: Id,
  status: Type.Union([Type.Literal('active'), Type.Literal('ended')]),
  ownerId: Id,
  incarnation: started.incarnation,
  fence: Fence,
  ownerAlive: Type.Optional(
    Type.Boolean({ description: 'of an active turn: `false` if it may be claimed' }),
  ),
  released: Type.Optional(Type.Literal(true)),
  inputs: Type.Array(Id),
  resumes: started.resumes,
  claims: Type.Array(TurnClaim, { description: 'who took it over, oldest first: the last 32' }),
  startedSeq: Seq,
  startedAt: Type.String({ format: 'date-time' }),
  endedSeq: Type.Optional(Seq),
  endedAt: Type.Optional(Type.String({ format: 'date-time' })),
  outcome: Type.Optional(ended.outcome),
  stopReason: ended.stopReason,
  error: ended.error,
  interrupt: Type.Optional(
    reply({
      reason: Type.String(),
      by: By,
      requestedSeq: Type.Optional(Seq),
      requestedAt: Type.Optional(Type.String({ format: 'date-time' })),
      dueAt: Type.Optional(
        Type.String({ format: 'date-time', description: 'when the store ends the turn itself' }),
      ),
    }),
  ),
})
export type Turn = Static<typeof Turn>

export const TurnReply = reply({ data: Turn, asOfSeq: AsOfSeq })
export const TurnsPage = reply({ data: Type.Array(Turn), cursor: PageCursor, asOfSeq: AsOfSeq })
