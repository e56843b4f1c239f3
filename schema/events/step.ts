import { Type } from 'typebox'
import { owner, ownerOrStore, type EventFamily } from './event-family.ts'
import { Attempt, Cost, EventError, Id, Json, Model, strict, Tokens } from './shapes.ts'

/** What a step may end with; any other finish, or none, is an incomplete stream (rule 15). */
export const knownFinishes: ReadonlySet<string> = new Set([
  'stop',
  'tool-calls',
  'length',
  'content-filter',
  'refusal',
])

/** Any text: what is not known is refused by its rule, which says what to do instead. */
const Finish = Type.String()

export const stepEvents = {
  'step.started': owner(
    strict({
      messageId: Id,
      attempt: Attempt,
      agent: Type.String(),
      model: Model,
      contextEpoch: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
  ),
  'step.retried': owner(
    strict({
      messageId: Id,
      attempt: Attempt,
      error: EventError,
      at: Type.Optional(Type.String()),
    }),
  ),
  'step.streamed': owner(
    strict({
      messageId: Id,
      finish: Finish,
      cost: Type.Optional(Cost),
      tokens: Type.Optional(Tokens),
    }),
  ),
  'step.ended': owner(
    strict({
      messageId: Id,
      finish: Type.Optional(Finish),
      rawFinish: Type.Optional(Type.String()),
      cost: Cost,
      tokens: Tokens,
      providerState: Type.Optional(Json),
    }),
  ),
  'step.failed': ownerOrStore(
    strict({
      messageId: Id,
      error: EventError,
      cost: Type.Optional(Cost),
      tokens: Type.Optional(Tokens),
    }),
  ),
} as const satisfies EventFamily
