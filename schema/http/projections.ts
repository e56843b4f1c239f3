import { Type, type Static } from 'typebox'
import { strict } from '../events/shapes.ts'
import { dataOf, reply } from './page.ts'

const Generation = Type.Integer({
  minimum: 1,
  description: 'a number of its own for each time that the projection was computed',
})
const When = Type.String({ format: 'date-time' })
const orNull = <T extends Parameters<typeof Type.Array>[0]>(of: T) => Type.Union([of, Type.Null()])
const Fold = Type.Integer({ description: 'the version of the code that made the rows' })

export const Projection = reply({
  name: Type.String(),
  liveGeneration: Generation,
  fold: Fold,
  stalled: Type.Optional(
    Type.Integer({
      description: 'sessions that the lists have set aside for an event that they cannot take',
    }),
  ),
  generations: Type.Array(
    reply({
      generation: Generation,
      fold: Fold,
      state: Type.Union([
        Type.Literal('filling'),
        Type.Literal('whole'),
        Type.Literal('leaving'),
        Type.Literal('removed'),
      ]),
    }),
  ),
})
export type Projection = Static<typeof Projection>

export const ProjectionsReply = dataOf(Type.Array(Projection))

export const StartRebuild = strict({
  verify: Type.Optional(
    Type.Boolean({ description: 'compare with the live rows before they are replaced' }),
  ),
  verifyOnly: Type.Optional(Type.Boolean({ description: 'compare, and make nothing live' })),
  keep: Type.Optional(Type.Boolean({ description: 'keep the rows that were live' })),
})
export type StartRebuild = Static<typeof StartRebuild>

export const Rebuild = reply({
  rebuildId: Type.String(),
  generation: Generation,
  replaces: Generation,
  phase: Type.Union([
    Type.Literal('filling'),
    Type.Literal('verifying'),
    Type.Literal('differs'),
    Type.Literal('removing'),
    Type.Literal('done'),
  ]),
  outcome: orNull(
    Type.Union([Type.Literal('live'), Type.Literal('checked'), Type.Literal('discarded')]),
  ),
  verify: Type.Boolean(),
  difference: orNull(Type.String({ description: 'the first row that is not the live one' })),
  beganAt: When,
  endedAt: orNull(When),
  sessions: Type.Integer(),
  filledSessions: Type.Integer(),
  verifiedSessions: Type.Integer(),
  events: Type.Integer({ description: 'events folded so far' }),
})

export const RebuildReply = dataOf(Rebuild)
