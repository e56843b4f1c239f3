import { Type, type Static } from 'typebox'
import { requestEvents, StandingRule } from '../events/request.ts'
import { Answers, Decision, ElicitationAction, Id, Json, strict } from '../events/shapes.ts'
import { AsOfSeq, dataOf, reply } from './page.ts'

/** By the kind of the request: a question, a permission, an elicitation. */
export const AnswerRequest = strict({
  messageId: Type.Optional(Id),
  answers: Type.Optional(Answers),
  decision: Type.Optional(Decision),
  message: Type.Optional(Type.String({ description: 'to the agent, with a decision' })),
  action: Type.Optional(ElicitationAction),
  content: Type.Optional(Json),
  device: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
})

export type AnswerBody = Static<typeof AnswerRequest>

export const CloseRequest = strict({
  reason: Type.Union([
    Type.Literal('rejected'),
    Type.Literal('dismissed'),
    Type.Literal('replied'),
    Type.Literal('cancelled'),
  ]),
  messageId: Type.Optional(Id),
})

const closed = requestEvents['request.closed'].data.properties

export const CloseRequestReply = dataOf(
  reply({
    requestId: Id,
    status: Type.Literal('closed'),
    reason: closed.reason,
    messageId: closed.messageId,
  }),
)

/** A decision that stands, with when it was given. */
export const StandingPermission = reply({
  ...StandingRule.properties,
  grantedSeq: AsOfSeq,
  grantedAt: Type.String({ format: 'date-time' }),
})

export const PermissionsReply = reply({ data: Type.Array(StandingPermission), asOfSeq: AsOfSeq })
