import { Type } from 'typebox'
import { anyone, store, type EventFamily } from './event-family.ts'
import {
  Boundary,
  Id,
  Json,
  JsonObject,
  Lineage,
  Location,
  Model,
  Origin,
  Reopened,
  Seq,
  strict,
} from './shapes.ts'

export const sessionEvents = {
  'session.created': store(
    strict({
      title: Type.Optional(Type.String()),
      agent: Type.Optional(Type.String()),
      model: Type.Optional(Model),
      location: Type.Optional(Location),
      project: Type.Optional(Type.String()),
      parent: Type.Optional(
        strict({
          sessionId: Id,
          messageId: Type.Optional(Id),
          callId: Type.Optional(Id),
          turnId: Type.Optional(Id),
        }),
      ),
      metadata: Type.Optional(JsonObject),
      origin: Type.Optional(Origin),
    }),
  ),
  'session.forked': store(
    strict({
      from: Id,
      asOfSeq: Seq,
      boundary: Type.Optional(Boundary),
      lineage: Lineage,
      reopened: Type.Optional(Reopened),
      dropped: Type.Optional(Type.Array(Id)),
    }),
  ),
  'session.renamed': anyone(strict({ title: Type.String() })),
  'session.metadata.updated': anyone(
    strict({ set: Type.Optional(JsonObject), unset: Type.Optional(Type.Array(Type.String())) }),
  ),
  'session.moved': anyone(strict({ location: Location })),
  'session.archived': anyone(strict({})),
  'session.unarchived': anyone(strict({})),
  'session.viewed': anyone(strict({})),
  'session.deleted': store(strict({})),
  'session.restored': store(strict({})),
  'agent.selected': anyone(strict({ messageId: Id, agent: Type.String() })),
  'model.selected': anyone(strict({ messageId: Id, model: Model })),
  'plan.updated': anyone(strict({ entries: Type.Array(Json) })),
} as const satisfies EventFamily
