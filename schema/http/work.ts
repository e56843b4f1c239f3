import { Type, type Static } from 'typebox'
import { Fence, Id, Seq, strict } from '../events/shapes.ts'
import { Cursor, Limit, reply } from './page.ts'

export const ListWork = strict({
  after: Type.Optional(Cursor),
  waitMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 30_000,
      description: 'with `after`: how long the reply may wait for something to become work',
    }),
  ),
  limit: Type.Optional(Limit),
  host: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'of sessions that are located on this host, or on none',
    }),
  ),
  project: Type.Optional(Type.String({ maxLength: 1024 })),
})

const work = { sessionId: Id, seq: Seq }

/** `seq`: of the input's admission, of the answer, of the turn's last start, claim or release. */
export const Work = Type.Union([
  reply({ kind: Type.Literal('input'), ...work, messageId: Id }),
  reply({ kind: Type.Literal('answer'), ...work, requestId: Id }),
  reply({ kind: Type.Literal('turn'), ...work, turnId: Id, fromFence: Fence }),
])
export type Work = Static<typeof Work>

/** `cursor.next` is always there: it is where to ask again for what becomes work later. */
export const WorkPage = reply({
  data: Type.Array(Work),
  cursor: reply({ next: Type.String(), previous: Type.Null() }),
})
