import { Type, type Static } from 'typebox'
import type { EventData, EventType } from './event-table.ts'
import { Id, idPattern, JsonObject, strict } from './shapes.ts'

/**
 * `turnId` and `fence` are the store's; so is `given`, the data as it was sent, where the store
 * completed it (rule 9); `importClosing` marks what an importer derived from its source's end. All
 * else is the writer's own.
 */
export type EventMeta = {
  readonly turnId?: string
  readonly fence?: number
  readonly given?: unknown
  readonly importClosing?: true
  readonly [member: string]: unknown
}

/** An event that the store knows. */
export type StemmaEvent = {
  [T in EventType]: { readonly type: T; readonly data: EventData<T> }
}[EventType]

/** An event of somebody else's type. */
export type ForeignEvent = { readonly type: `x.${string}`; readonly data: unknown }

/** An event on its way into the log, checked and complete. */
export type NewEvent = (StemmaEvent | ForeignEvent) & {
  readonly eventId: string
  readonly version: number
  readonly occurredAt?: string
  readonly meta: EventMeta
}

/** An event of the log, as folds take it. */
export type StoredEvent = NewEvent & {
  readonly seq: number
  readonly occurredAt: string
  readonly recordedAt: string
}

/** RFC 3339, with at most the microseconds that the database keeps. */
export const Timestamp = Type.String({
  pattern:
    '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$',
})

/** An event as a caller sends it; `data` is checked against its type's own schema. */
export const IncomingEnvelope = strict({
  eventId: Type.Optional(Type.String({ pattern: idPattern })),
  type: Type.String({ minLength: 1, maxLength: 128 }),
  version: Type.Optional(Type.Integer({ minimum: 1 })),
  occurredAt: Type.Optional(Timestamp),
  data: Type.Unknown(),
  meta: Type.Optional(JsonObject),
})
export type IncomingEnvelope = Static<typeof IncomingEnvelope>

/** An event as it is given out. */
export const Envelope = strict({
  sessionId: Id,
  seq: Type.Integer({ minimum: 1 }),
  eventId: Id,
  type: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  occurredAt: Type.String({ format: 'date-time' }),
  recordedAt: Type.String({ format: 'date-time' }),
  data: Type.Unknown(),
  meta: JsonObject,
})
export type Envelope = Static<typeof Envelope>
