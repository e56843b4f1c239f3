import { Type, type Static } from 'typebox'
import { AppendEvents } from '../http/events.ts'
import { Cursor, Log } from '../http/page.ts'
import { Id, Seq, strict } from '../events/shapes.ts'
import { LiveDelta, LiveReplace } from './live.ts'

const op = <N extends string>(name: N) => ({ op: Type.Literal(name) })

/** A name that the client gives to a subscription or a request; it comes back with each answer. */
const Name = Type.String({ minLength: 1, maxLength: 128 })

const subscribeSession = {
  ...op('subscribe'),
  sub: Name,
  sessionId: Id,
  afterSeq: Type.Optional(
    Type.Integer({
      minimum: -1,
      description: 'the last seq that the client has; 0 by default, -1 for live only',
    }),
  ),
  log: Type.Optional(Log),
  live: Type.Optional(Type.Boolean({ description: 'the live channel too; true by default' })),
}

export const SubscribeSession = strict({
  ...subscribeSession,
  tree: Type.Optional(Type.Literal(false)),
})

/** A session and its descendants. */
export const SubscribeTree = strict({
  ...subscribeSession,
  tree: Type.Literal(true),
  after: Type.Optional(
    Type.Record(Id, Seq, {
      additionalProperties: false,
      description:
        'the last seqs that the client has of descendants; others from their first event',
    }),
  ),
})

export const SubscribeAll = strict({
  ...op('subscribe'),
  sub: Name,
  all: Type.Literal(true),
  after: Type.Optional(Cursor),
  types: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z0-9._:~-]{1,128}$' }), {
      minItems: 1,
      maxItems: 64,
    }),
  ),
})

export const Unsubscribe = strict({ ...op('unsubscribe'), sub: Name })

export const Append = strict({
  ...op('append'),
  ref: Name,
  sessionId: Id,
  idempotencyKey: Type.Optional(Id),
  ...AppendEvents.properties,
})

export const SpeakDelta = strict({ ...op('live'), sessionId: Id, ...LiveDelta.properties })
export const SpeakReplace = strict({ ...op('live'), sessionId: Id, ...LiveReplace.properties })

export const Ping = strict({ ...op('ping') })

export type SubscribeSession = Static<typeof SubscribeSession>
export type SubscribeTree = Static<typeof SubscribeTree>
export type SubscribeAll = Static<typeof SubscribeAll>
export type Unsubscribe = Static<typeof Unsubscribe>
export type Append = Static<typeof Append>
export type Speak = Static<typeof SpeakDelta> | Static<typeof SpeakReplace>
export type Ping = Static<typeof Ping>
