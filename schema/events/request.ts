import { Type } from 'typebox'
import { owner, store, type EventFamily } from './event-family.ts'
import {
  Answers,
  CloseReason,
  By,
  Decision,
  ElicitationAction,
  Id,
  Json,
  Permission,
  Question,
  strict,
} from './shapes.ts'

/** A decision that stands for later requests: named by the request that it answered. */
export const StandingRule = strict({
  requestId: Id,
  action: Type.String(),
  resources: Type.Array(Type.String()),
  decision: Type.Union([Type.Literal('allow'), Type.Literal('reject')]),
})

export const requestEvents = {
  'request.opened': owner(
    strict({
      requestId: Id,
      kind: Type.Union([
        Type.Literal('question'),
        Type.Literal('permission'),
        Type.Literal('elicitation'),
      ]),
      messageId: Type.Optional(Id),
      callId: Type.Optional(Id),
      questions: Type.Optional(Type.Array(Question)),
      permission: Type.Optional(Permission),
      schema: Type.Optional(Json),
      options: Type.Optional(Json),
      expiresAt: Type.Optional(Type.String()),
    }),
  ),
  'request.answered': store(
    strict({
      requestId: Id,
      messageId: Id,
      answers: Type.Optional(Answers),
      decision: Type.Optional(Decision),
      message: Type.Optional(Type.String()),
      action: Type.Optional(ElicitationAction),
      content: Type.Optional(Json),
      by: By,
    }),
  ),
  'request.closed': store(
    strict({
      requestId: Id,
      reason: CloseReason,
      messageId: Type.Optional(Id),
    }),
  ),
  'permission.granted': store(strict({ rule: StandingRule })),
  'permission.revoked': store(strict({ rule: StandingRule })),
} as const satisfies EventFamily
