import { Type } from 'typebox'
import { Id, strict } from '../events/shapes.ts'

export const SessionParams = strict({ sessionId: Id })
export const MessageParams = strict({ sessionId: Id, messageId: Id })
export const ProjectionParams = strict({ name: Id })
export const RebuildParams = strict({ name: Id, rebuildId: Id })
export const TurnParams = strict({ sessionId: Id, turnId: Id })
export const RequestParams = strict({ sessionId: Id, requestId: Id })
export const OwnerParams = strict({ ownerId: Id })

/** Query of what can be done to a session alone or to its descendants as well. */
export const TreeQuery = strict({
  tree: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description: '`true`: the descendants too, each by an append of its own',
    }),
  ),
})
