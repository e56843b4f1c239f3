import { Type } from 'typebox'
import { ownerOrStore, store, type EventFamily } from './event-family.ts'
import { By, EventError, Fence, Id, Json, strict } from './shapes.ts'

const Incarnation = Type.Integer({ minimum: 0 })

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
      report: Json,
    }),
  ),
  'turn.released': store(strict({ turnId: Id, fence: Fence })),
  'turn.interrupt.requested': store(strict({ turnId: Id, reason: Type.String(), by: By })),
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
