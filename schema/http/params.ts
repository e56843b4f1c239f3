import { Id, strict } from '../events/shapes.ts'

export const SessionParams = strict({ sessionId: Id })
export const MessageParams = strict({ sessionId: Id, messageId: Id })
export const ProjectionParams = strict({ name: Id })
export const RebuildParams = strict({ name: Id, rebuildId: Id })
export const TurnParams = strict({ sessionId: Id, turnId: Id })
