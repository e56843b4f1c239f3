import { Type } from 'typebox'
import { anyone, owner, ownerOrStore, type EventFamily } from './event-family.ts'
import { CallEffect } from './call.ts'
import { Content, EventError, Id, Json, strict } from './shapes.ts'

const Started = strict({ messageId: Id, partId: Id })
const Ended = strict({
  messageId: Id,
  partId: Id,
  text: Type.String(),
  mustStay: Type.Optional(Type.Boolean()),
  partial: Type.Optional(Type.Boolean()),
  providerState: Type.Optional(Json),
})
const Exclusion = strict({ messageId: Id, partId: Id, reason: Type.String() })

export const CallOutcome = Type.Union([
  Type.Literal('ok'),
  Type.Literal('error'),
  Type.Literal('denied'),
  Type.Literal('cancelled'),
  Type.Literal('unknown'),
])
/** What a call turned out to have been: to say that it is unknown explains nothing. */
const FoundOutcome = Type.Union([
  Type.Literal('ok'),
  Type.Literal('error'),
  Type.Literal('denied'),
  Type.Literal('cancelled'),
])

export const partEvents = {
  'text.started': owner(Started),
  'text.ended': ownerOrStore(Ended),
  'reasoning.started': owner(Started),
  'reasoning.ended': ownerOrStore(Ended),
  'tool.input.started': owner(strict({ messageId: Id, callId: Id, name: Type.String() })),
  'tool.input.ended': ownerOrStore(
    strict({ messageId: Id, callId: Id, name: Type.Optional(Type.String()), text: Type.String() }),
  ),
  'tool.called': owner(
    strict({
      messageId: Id,
      callId: Id,
      name: Type.String(),
      input: Json,
      effect: CallEffect,
      effectKey: Type.Optional(Id),
      repeats: Type.Optional(Id),
      executedBy: Type.Union([Type.Literal('host'), Type.Literal('provider')]),
      childSessionId: Type.Optional(Id),
      providerState: Type.Optional(Json),
    }),
  ),
  'tool.dispatched': owner(strict({ messageId: Id, callId: Id })),
  'tool.settled': ownerOrStore(
    strict({
      messageId: Id,
      callId: Id,
      outcome: CallOutcome,
      content: Content,
      structured: Type.Optional(Json),
      error: Type.Optional(EventError),
      providerState: Type.Optional(Json),
    }),
  ),
  'tool.resolved': anyone(
    strict({
      messageId: Id,
      callId: Id,
      outcome: FoundOutcome,
      content: Type.Optional(Content),
      evidence: Json,
    }),
  ),
  'part.excluded': anyone(Exclusion),
  'part.included': anyone(Exclusion),
} as const satisfies EventFamily
