import { Type } from 'typebox'
import { anyone, anyoneOrStore, store, type EventFamily } from './event-family.ts'
import { Id, Seq, strict } from './shapes.ts'

export const otherEvents = {
  'shell.started': anyone(strict({ messageId: Id, command: Type.String() })),
  'shell.ended': anyoneOrStore(
    strict({ messageId: Id, output: Type.String(), exit: Type.Optional(Type.Integer()) }),
  ),
  'note.added': anyone(
    strict({
      messageId: Id,
      role: Type.Union([Type.Literal('system'), Type.Literal('synthetic')]),
      text: Type.String(),
    }),
  ),
  'part.redacted': store(
    strict({
      seq: Seq,
      messageId: Type.Optional(Id),
      partId: Type.Optional(Id),
      reason: Type.String(),
    }),
  ),
} as const satisfies EventFamily
