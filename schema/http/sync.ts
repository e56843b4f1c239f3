import { Type, type Static } from 'typebox'
import { requestEvents } from '../events/request.ts'
import { turnEvents } from '../events/turn.ts'
import { Attempt, Fence, Id, Seq, strict } from '../events/shapes.ts'
import { Input } from './inputs.ts'
import { Message } from './messages.ts'
import { Log, reply } from './page.ts'
import { Problem } from './problem.ts'
import { SessionStatus } from './sessions.ts'

/** Sessions that one request may ask about. */
export const mostSynced = 100

export const Sync = strict({
  sessions: Type.Array(
    strict({
      sessionId: Id,
      afterSeq: Type.Integer({
        minimum: 0,
        description: 'the seq that the host has the session at; 0 for one of which it has nothing',
      }),
    }),
    { minItems: 1, maxItems: mostSynced },
  ),
  log: Type.Optional(Log),
})
export type Sync = Static<typeof Sync>

const opened = requestEvents['request.opened'].data.properties
const started = turnEvents['turn.started'].data.properties
const Time = Type.String({ format: 'date-time' })

/** A request that waits for its answer. */
export const OpenRequest = reply({
  requestId: Id,
  sessionId: Id,
  status: Type.Literal('open'),
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
})

const OpenCall = reply({
  callId: Id,
  status: Type.Union([
    Type.Literal('streaming'),
    Type.Literal('called'),
    Type.Literal('waiting'),
    Type.Literal('dispatched'),
  ]),
  effect: Type.Optional(Type.String()),
  effectKey: Type.Optional(Type.String()),
  requestId: Type.Optional(Id),
  childSessionId: Type.Optional(Id),
})

export const SyncedMessages = Type.Union([
  reply({
    changed: Type.Array(Message, {
      description: 'touched after `afterSeq`, as they are shown now',
    }),
    removed: Type.Array(Id, { description: 'touched after `afterSeq`, and not shown' }),
  }),
  reply({
    reset: Type.Literal(true, { description: 'drop what you have, and read the pages anew' }),
    reason: Type.Union(
      ['other_log', 'ahead', 'lineage', 'long', 'stalled'].map((reason) => Type.Literal(reason)),
    ),
  }),
])

export const SyncedSession = reply({
  sessionId: Id,
  headSeq: Seq,
  status: SessionStatus,
  ownerAlive: Type.Optional(
    Type.Boolean({ description: 'of the active turn: `false` if it may be claimed' }),
  ),
  turn: Type.Optional(
    reply({
      turnId: Id,
      ownerId: Id,
      incarnation: started.incarnation,
      fence: Fence,
      startedSeq: Seq,
      released: Type.Optional(Type.Literal(true)),
      interrupt: Type.Optional(reply({ seq: Seq, graceMs: Type.Optional(Type.Integer()) })),
    }),
  ),
  step: Type.Optional(
    reply({
      messageId: Id,
      attempt: Attempt,
      calls: Type.Array(OpenCall, { description: 'those that have not settled' }),
    }),
  ),
  openRequests: Type.Array(OpenRequest),
  inputs: Type.Array(Input, { description: 'those that wait' }),
  messages: SyncedMessages,
  followSeq: Type.Integer({ minimum: 0, description: 'subscribe with this as `afterSeq`' }),
})

export const SyncReply = reply({
  data: Type.Array(
    Type.Union([SyncedSession, reply({ sessionId: Id, error: Problem })], {
      description: 'in the order of the request',
    }),
  ),
  log: Log,
})
