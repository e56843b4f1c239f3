import { Type, type Static } from 'typebox'
import { requestEvents } from '../events/request.ts'
import { Id, Seq, strict } from '../events/shapes.ts'
import { Cursor, Limit, PageCursor, reply } from './page.ts'

const opened = requestEvents['request.opened'].data.properties
const { requestId: _answered, ...answer } = requestEvents['request.answered'].data.properties
const { requestId: _closed, ...closed } = requestEvents['request.closed'].data.properties
const Time = Type.String({ format: 'date-time' })
const Status = Type.Union([Type.Literal('open'), Type.Literal('answered'), Type.Literal('closed')])

export const ListRequests = strict({
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
  status: Type.Optional(Status),
  kind: Type.Optional(opened.kind),
  project: Type.Optional(Type.String({ maxLength: 1024 })),
  sessionId: Type.Optional(Id),
  tree: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description: '`true`: of the descendants of `sessionId`, too',
    }),
  ),
})

export const Request = reply({
  requestId: Id,
  sessionId: Id,
  status: Status,
  kind: opened.kind,
  messageId: opened.messageId,
  callId: opened.callId,
  questions: opened.questions,
  permission: opened.permission,
  schema: opened.schema,
  options: opened.options,
  expiresAt: opened.expiresAt,
  openedSeq: Seq,
  openedAt: Time,
  settledSeq: Type.Optional(Seq),
  settledAt: Type.Optional(Time),
  answer: Type.Optional(reply(answer)),
  closed: Type.Optional(reply(closed)),
})
export type Request = Static<typeof Request>

export const RequestsPage = reply({
  data: Type.Array(Request),
  cursor: PageCursor,
  asOf: Type.String({
    description:
      'follow `GET /v1/events` or the socket after this, without `types`: what the page lacks comes',
  }),
})
