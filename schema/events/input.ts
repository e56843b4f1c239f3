import { Type } from 'typebox'
import { ownerOrStore, store, type EventFamily } from './event-family.ts'
import { Files, Id, strict } from './shapes.ts'

export const InputKind = Type.Union([
  Type.Literal('prompt'),
  Type.Literal('compact'),
  Type.Literal('shell'),
  Type.Literal('restore'),
  Type.Literal('resume'),
])
export const Delivery = Type.Union([Type.Literal('steer'), Type.Literal('queue')])

export const inputEvents = {
  'input.admitted': store(
    strict({
      messageId: Id,
      kind: InputKind,
      text: Type.Optional(Type.String()),
      files: Type.Optional(Files),
      delivery: Delivery,
      expectedTurnId: Type.Optional(Id),
    }),
  ),
  'input.delivered': ownerOrStore(strict({ messageId: Id, turnId: Id })),
  'input.cancelled': store(strict({ messageId: Id })),
  'input.changed': store(strict({ messageId: Id, delivery: Delivery })),
} as const satisfies EventFamily
