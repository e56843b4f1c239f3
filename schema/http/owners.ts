import { Type, type Static } from 'typebox'
import { Fence, Id, Seq, strict } from '../events/shapes.ts'
import { Cursor, dataOf, Limit, PageCursor, reply } from './page.ts'

/** Of an owner: which of its registrations. */
export const Incarnation = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'of the owner: `POST /v1/owners` gives it',
})
const Lifetime = Type.Union([Type.Literal('lease'), Type.Literal('process')], {
  description:
    '`lease`: its turns may be claimed when no heartbeat has come for `ttlMs`; `process`: when its ' +
    'supervisor says that it has exited',
})
const ttl = { minimum: 100, maximum: 86_400_000 }
/** Kept in a column, which cannot hold NUL and would change lone surrogates. */
const pattern = '^[^\\u0000\\p{Cs}]+$'
const Reason = Type.String({ minLength: 1, maxLength: 1_000, pattern })

export const RegisterOwner = strict({
  ownerId: Type.Optional(Id),
  lifetime: Lifetime,
  ttlMs: Type.Optional(
    Type.Integer({ ...ttl, description: 'of a lease; 30,000 if it is left out' }),
  ),
  host: Type.Optional(Type.String({ minLength: 1, maxLength: 255, pattern })),
})
export type RegisterOwner = Static<typeof RegisterOwner>

export const OwnersOwn = strict({ incarnation: Incarnation })

export const OwnerExited = strict({
  incarnation: Incarnation,
  reason: Reason,
  fail: Type.Optional(
    Type.Boolean({ description: 'ends its turns as failed; else they may be claimed' }),
  ),
})

export const Owner = reply({
  ownerId: Id,
  incarnation: Incarnation,
  lifetime: Lifetime,
  ttlMs: Type.Optional(Type.Integer(ttl)),
  host: Type.Optional(Type.String()),
  status: Type.Union([Type.Literal('alive'), Type.Literal('lapsed'), Type.Literal('exited')], {
    description: '`lapsed`: its turns may be claimed; a heartbeat brings it back',
  }),
  exitReason: Type.Optional(Reason),
  lapsesAt: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'when its lease ends if no heartbeat comes, by the clock of the database',
    }),
  ),
})

export const OwnerReply = dataOf(Owner)
export const OwnerExitedReply = reply({
  data: Owner,
  failed: Type.Array(reply({ sessionId: Id, turnId: Id }), {
    description: 'the turns that were ended as failed by this request',
  }),
})

export const ListOwnerTurns = strict({
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
})

export const OwnerTurnsPage = reply({
  data: Type.Array(
    reply({
      sessionId: Id,
      turnId: Id,
      fence: Fence,
      incarnation: Type.Optional(Type.Integer()),
      startedSeq: Seq,
      released: Type.Optional(Type.Literal(true)),
      current: Type.Boolean({ description: "whether it is held by the owner's last incarnation" }),
      ownerAlive: Type.Boolean({ description: '`false` if it may be claimed' }),
    }),
    { description: 'active, by whatever incarnation' },
  ),
  cursor: PageCursor,
})
