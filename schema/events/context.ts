import { Type } from 'typebox'
import { anyone, owner, ownerOrStore, type EventFamily } from './event-family.ts'
import { Cost, EventError, Id, Json, Model, strict, Tokens } from './shapes.ts'

const Count = Type.Integer({ minimum: 0 })

export const contextEvents = {
  'context.updated': owner(
    strict({ contextEpoch: Count, baseline: Json, text: Type.Optional(Type.String()) }),
  ),
  'compaction.started': owner(
    strict({
      compactionId: Id,
      messageId: Id,
      reason: Type.Union([Type.Literal('auto'), Type.Literal('manual'), Type.Literal('overflow')]),
    }),
  ),
  'compaction.ended': owner(
    strict({
      compactionId: Id,
      summary: Type.String(),
      keepFromMessageId: Type.Optional(Id),
      model: Type.Optional(Model),
      cost: Type.Optional(Cost),
      tokensBefore: Count,
      tokensAfter: Count,
    }),
  ),
  'compaction.failed': ownerOrStore(strict({ compactionId: Id, error: Type.Optional(EventError) })),
  'usage.recorded': anyone(strict({ source: Type.String(), cost: Cost, tokens: Tokens })),
} as const satisfies EventFamily
