import { Type } from 'typebox'
import { partEvents } from '../events/part.ts'
import { requestEvents } from '../events/request.ts'
import {
  Attempt,
  Cost,
  EventError,
  Files,
  Id,
  Json,
  Model,
  Seq,
  strict,
  Tokens,
} from '../events/shapes.ts'
import { AsOfSeq, Cursor, Limit, PageCursor, reply } from './page.ts'

const AtSeq = Type.Integer({ minimum: 0, description: 'the transcript as it was at this seq' })

export const ListMessages = strict({
  limit: Type.Optional(Limit),
  cursor: Type.Optional(Cursor),
  order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
  include: Type.Optional(
    Type.Literal('hidden', { description: 'also what reverts and retries cut off' }),
  ),
  atSeq: Type.Optional(AtSeq),
})

const answered = requestEvents['request.answered'].data.properties
const called = partEvents['tool.called'].data.properties
const settled = partEvents['tool.settled'].data.properties
const Text = Type.Optional(Type.String())
const Time = Type.Optional(Type.String({ format: 'date-time' }))

export const MessagePart = reply({
  type: Type.Union([Type.Literal('text'), Type.Literal('reasoning'), Type.Literal('tool')]),
  partId: Id,
  text: Text,
  partial: Type.Optional(Type.Boolean()),
  mustStay: Type.Optional(Type.Boolean()),
  excluded: Text,
  superseded: Type.Optional(Type.Literal(true)),
  name: Text,
  input: Type.Optional(Json),
  inputText: Text,
  effect: Type.Optional(called.effect),
  effectKey: called.effectKey,
  executedBy: Type.Optional(called.executedBy),
  childSessionId: called.childSessionId,
  status: Type.Optional(
    Type.Union([
      Type.Literal('streaming'),
      Type.Literal('called'),
      Type.Literal('waiting'),
      Type.Literal('dispatched'),
      Type.Literal('settled'),
    ]),
  ),
  requestId: Type.Optional(Id),
  outcome: Type.Optional(settled.outcome),
  content: Type.Optional(settled.content),
  structured: settled.structured,
  error: Type.Optional(EventError),
  resolved: Type.Optional(
    reply({ outcome: Type.String(), content: Type.Optional(Json), evidence: Json }),
  ),
  providerState: Type.Optional(Json),
  times: Type.Optional(
    reply({ created: Type.String(), called: Time, dispatched: Time, settled: Time }),
  ),
})

export const MessageType = Type.Union([
  Type.Literal('user'),
  Type.Literal('assistant'),
  Type.Literal('system'),
  Type.Literal('synthetic'),
  Type.Literal('shell'),
  Type.Literal('compaction'),
  Type.Literal('agent-selected'),
  Type.Literal('model-selected'),
])

/** A row of the transcript; which members it has depends on its type. */
export const Message = reply({
  messageId: Id,
  sessionId: Id,
  seq: Seq,
  type: MessageType,
  createdAt: Type.String({ format: 'date-time' }),
  completedAt: Time,
  turnId: Type.Optional(Id),
  hidden: Type.Optional(Type.Literal(true)),
  origin: Type.Optional(Type.Union([Type.Literal('input'), Type.Literal('answer')])),
  text: Text,
  files: Type.Optional(Files),
  requestId: Type.Optional(Id),
  answers: answered.answers,
  decision: answered.decision,
  action: Text,
  message: Text,
  content: Type.Optional(Json),
  by: Type.Optional(answered.by),
  agent: Text,
  model: Type.Optional(Model),
  attempt: Type.Optional(Attempt),
  parts: Type.Optional(Type.Array(MessagePart)),
  finish: Text,
  rawFinish: Text,
  error: Type.Optional(EventError),
  cost: Type.Optional(Cost),
  tokens: Type.Optional(Tokens),
  providerState: Type.Optional(Json),
  command: Text,
  output: Text,
  exit: Type.Optional(Type.Integer()),
  compactionId: Type.Optional(Id),
  reason: Text,
  status: Text,
  summary: Text,
  keepFromMessageId: Type.Optional(Id),
  tokensBefore: Type.Optional(Seq),
  tokensAfter: Type.Optional(Seq),
})

const Stalled = Type.Optional(reply({ seq: Seq, code: Type.String() }))

export const MessagesPage = reply({
  data: Type.Array(Message),
  cursor: PageCursor,
  asOfSeq: AsOfSeq,
  stalled: Stalled,
  fold: Type.Optional(
    Type.Unknown({
      description:
        'what the fold of `client/` needs to go on from this page; only of the head of the log. ' +
        'Its members may change.',
    }),
  ),
})
export const MessageReply = reply({ data: Message, asOfSeq: AsOfSeq })
