import { Type, type Static } from 'typebox'
import { IncomingEnvelope } from '../events/envelope.ts'
import { Id, Origin, Seq, strict } from '../events/shapes.ts'
import { dataOf, reply } from './page.ts'

export const ImportEvents = strict({
  origin: Origin,
  sessionId: Type.Optional(
    Type.String({
      ...Id,
      description: "the origin's id by default, which must then be an id of ours",
    }),
  ),
  events: Type.Array(IncomingEnvelope, { minItems: 1 }),
})
export type ImportEvents = Static<typeof ImportEvents>

export const ImportReply = dataOf(
  reply({
    sessionId: Id,
    firstSeq: Seq,
    lastSeq: Seq,
    added: Type.Integer({ minimum: 0 }),
    duplicates: Type.Integer({ minimum: 0 }),
  }),
)
