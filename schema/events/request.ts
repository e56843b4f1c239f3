import { Type } from 'typebox'
import { owner, store, type EventFamily } from './event-family.ts'
import { Answers, By, Decision, Id, Json, Permission, Question, strict } from './shapes.ts'

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
      action: Type.Optional(Type.String()),
      content: Type.Optional(Json),
      by: By,
    }),
  ),
  'request.closed': store(
    strict({
      requestId: Id,
      reason: Type.Union([
        Type.Literal('rejected'),
        Type.Literal('dismissed'),
        Type.Literal('replied'),
        Type.Literal('cancelled'),
        Type.Literal('expired'),
        Type.Literal('superseded'),
      ]),
      messageId: Type.Optional(Id),
    }),
  ),
  'permission.granted': store(strict({ rule: Json })),
  'permission.revoked': store(strict({ rule: Json })),
} as const satisfies EventFamily
