import { Type, type Static } from 'typebox'
import { Content, EventError, Files, Id, Json, JsonObject, strict } from '../events/shapes.ts'
import { CallOutcome } from '../events/part.ts'
import { AsOfSeq, reply } from './page.ts'

export const ReadContext = strict({
  waiting: Type.Optional(
    Type.Literal('placeholder', {
      description: 'also the calls with an open request, each with a result that says so',
    }),
  ),
})

const Part = { messageId: Id, partId: Id }
const State = Type.Optional(Json)
const Placeholder = Type.Optional(
  Type.Literal(true, { description: 'not written by anybody: it keeps a place' }),
)
const ExecutedBy = Type.Optional(
  Type.Literal('provider', { description: 'run by the provider itself' }),
)
const ExcludedFor = Type.Optional(Type.String({ description: 'why it was excluded' }))
const CallId = Type.String({
  description: 'unique over the context; as the part is called, unless `changed` says so',
})

/** A piece of an assistant message, in the order in which they appeared. None is blank. */
export const ContextPart = Type.Union([
  reply({
    type: Type.Union([Type.Literal('text'), Type.Literal('reasoning')]),
    partId: Id,
    text: Type.String(),
    providerState: State,
  }),
  reply({
    type: Type.Literal('call'),
    partId: Id,
    callId: CallId,
    name: Type.String(),
    input: JsonObject,
    executedBy: ExecutedBy,
    excluded: ExcludedFor,
    providerState: State,
  }),
  reply({
    type: Type.Literal('excluded'),
    partId: Id,
    of: Type.Union([Type.Literal('text'), Type.Literal('reasoning')]),
    reason: Type.String(),
    text: Type.String({ description: 'what to send in its place' }),
  }),
])
export type ContextPart = Static<typeof ContextPart>

/** One entry of what a model should see next, in the order in which providers take them. */
export const ContextEntry = Type.Union([
  reply({ role: Type.Literal('summary'), messageId: Id, text: Type.String() }),
  reply({
    role: Type.Union([Type.Literal('system'), Type.Literal('synthetic')]),
    messageId: Id,
    text: Type.String(),
    placeholder: Placeholder,
  }),
  reply({
    role: Type.Literal('user'),
    messageId: Id,
    text: Type.Optional(Type.String()),
    files: Type.Optional(Files),
  }),
  reply({
    role: Type.Literal('shell'),
    messageId: Id,
    command: Type.String(),
    output: Type.Optional(Type.String()),
    exit: Type.Optional(Type.Integer()),
  }),
  reply({
    role: Type.Literal('assistant'),
    messageId: Id,
    parts: Type.Array(ContextPart),
    providerState: State,
  }),
  reply({
    role: Type.Literal('tool'),
    ...Part,
    callId: CallId,
    name: Type.String(),
    outcome: Type.Union([CallOutcome, Type.Literal('waiting')]),
    content: Content,
    error: Type.Optional(EventError),
    executedBy: ExecutedBy,
    excluded: ExcludedFor,
    requestId: Type.Optional(Id),
    placeholder: Placeholder,
  }),
])
export type ContextEntry = Static<typeof ContextEntry>

const LeftOutPart = Type.Optional(Id)

/** What was not put in, and why. */
export const LeftOut = reply({
  messageId: Id,
  partId: LeftOutPart,
  reason: Type.Union([
    Type.Literal('answer', { description: 'the result of its call says it' }),
    Type.Literal('excluded', { description: 'a placeholder stands in its place' }),
    Type.Literal('superseded', { description: 'of an attempt that was retried' }),
    Type.Literal('unsettled', { description: 'a call without a result, a shell that runs' }),
    Type.Literal('not-called', { description: 'its input never became whole' }),
    Type.Literal('nameless', { description: 'a call of no tool' }),
    Type.Literal('partial', { description: 'reasoning that was cut off' }),
    Type.Literal('nothing-follows', { description: 'reasoning that led to nothing that is there' }),
    Type.Literal('empty', { description: 'nothing, or nothing but blanks' }),
  ]),
})
export type LeftOut = Static<typeof LeftOut>

/** What is not as it was written, because providers would refuse it. */
export const Changed = reply({
  messageId: Id,
  partId: LeftOutPart,
  what: Type.Union([
    Type.Literal('callId', { description: 'used before, or not in the form that all take' }),
    Type.Literal('name', { description: 'a name of a tool that is not in the form that all take' }),
    Type.Literal('input', { description: 'was no object' }),
    Type.Literal('characters', { description: 'lone surrogates became U+FFFD' }),
  ]),
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
})
export type Changed = Static<typeof Changed>

export const Context = reply({
  entries: Type.Array(ContextEntry),
  leftOut: Type.Array(LeftOut),
  changed: Type.Array(Changed),
})
export type Context = Static<typeof Context>

export const ContextReply = reply({ data: Context, asOfSeq: AsOfSeq })
