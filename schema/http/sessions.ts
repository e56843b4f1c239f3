import { Type, type Static } from 'typebox'
import { sessionEvents } from '../events/session.ts'
import { Cost, Id, JsonObject, Seq, strict, Tokens } from '../events/shapes.ts'
import { Cursor, dataOf, Limit, PageCursor, reply } from './page.ts'

const created = sessionEvents['session.created'].data.properties

export const CreateSession = strict({
  sessionId: Type.Optional(Id),
  title: created.title,
  agent: created.agent,
  model: created.model,
  location: created.location,
  project: created.project,
  parent: created.parent,
  metadata: created.metadata,
})
export type CreateSession = Static<typeof CreateSession>

/** RFC 7396: what is null is removed, objects are merged, all else is replaced. */
export const PatchSession = strict({
  title: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  metadata: Type.Optional(Type.Union([JsonObject, Type.Null()])),
})
export type PatchSession = Static<typeof PatchSession>

export const SessionStatus = Type.Union([
  Type.Literal('idle'),
  Type.Literal('running'),
  Type.Literal('requires_action'),
])

export const ListSessions = strict({
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
  order: Type.Optional(
    Type.Union([Type.Literal('created'), Type.Literal('updated')], {
      description:
        '`created` (default) shows each session once, newest first; `updated` shows what was ' +
        'unchanged since the walk began, newest first, then all that changed since',
    }),
  ),
  status: Type.Optional(Type.Union([...SessionStatus.anyOf, Type.Literal('archived')])),
  project: Type.Optional(Type.String({ maxLength: 1024 })),
  parent: Type.Optional(Id),
  search: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'a part of the title' }),
  ),
})

export const Session = reply({
  sessionId: Id,
  headSeq: Seq,
  status: SessionStatus,
  ownerAlive: Type.Optional(
    Type.Boolean({ description: 'of the active turn: `false` if it may be claimed' }),
  ),
  title: Type.Optional(Type.String()),
  agent: Type.Optional(Type.String()),
  model: created.model,
  location: created.location,
  project: Type.Optional(Type.String()),
  parent: created.parent,
  metadata: created.metadata,
  origin: created.origin,
  forkedFrom: Type.Optional(reply({ sessionId: Id, asOfSeq: Seq })),
  turn: Type.Optional(reply({ turnId: Id, ownerId: Id, fence: Seq })),
  openRequests: Type.Array(Id),
  usage: reply({ cost: Cost, tokens: Tokens }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  viewedAt: Type.Optional(Type.String({ format: 'date-time' })),
  archived: Type.Optional(Type.Literal(true)),
})

export const SessionReply = dataOf(Session)
export const SessionsPage = reply({ data: Type.Array(Session), cursor: PageCursor })
