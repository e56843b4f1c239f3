import { Type, type Static } from 'typebox'
import { Envelope, IncomingEnvelope } from '../events/envelope.ts'
import { Fence, Id, Seq, strict } from '../events/shapes.ts'
import { AsOfSeq, dataOf, Limit, Log, reply } from './page.ts'

const AppendedEvent = reply({
  eventId: Id,
  seq: Seq,
  duplicate: Type.Optional(Type.Literal(true, { description: 'it was there already' })),
  derived: Type.Optional(Type.Literal(true, { description: 'the store added it' })),
})

export const AppendEvents = strict({
  events: Type.Array(IncomingEnvelope, { minItems: 1 }),
  expectedSeq: Type.Optional(
    Type.Integer({ minimum: 0, description: 'the head that the caller has seen' }),
  ),
  turnId: Type.Optional(Id),
  fence: Type.Optional(Fence),
})
export type AppendEvents = Static<typeof AppendEvents>

export const AppendReply = dataOf(
  reply({ firstSeq: Seq, lastSeq: Seq, headSeq: Seq, events: Type.Array(AppendedEvent) }),
)

export const ListEvents = strict({
  afterSeq: Type.Optional(
    Type.Integer({ minimum: 0, description: 'events behind this seq; 0 by default' }),
  ),
  limit: Type.Optional(Limit),
  log: Type.Optional(Log),
})

export const EventsPage = reply({ data: Type.Array(Envelope), asOfSeq: AsOfSeq })
