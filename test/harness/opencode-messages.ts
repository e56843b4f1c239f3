import { readdirSync, readFileSync } from 'node:fs'

/** A recording as it lies in test/recordings/opencode-v2. */
export type Recording = {
  readonly name: string
  readonly session: { readonly id: string; readonly title: string }
  readonly history: readonly RecordedEvent[]
  readonly messages: readonly RecordedMessage[]
}

export type RecordedEvent = {
  readonly id: string
  readonly type: string
  readonly durable: Readonly<Record<string, unknown>>
  readonly data: Readonly<Record<string, unknown>>
}

type Json = Readonly<Record<string, unknown>>
type RecordedTool = {
  readonly type: 'tool'
  readonly id: string
  readonly name: string
  readonly state: {
    readonly status: 'completed' | 'error' | 'running' | 'pending'
    readonly input: unknown
    readonly content?: unknown
    readonly structured?: { readonly answers?: unknown }
    readonly error?: { readonly message: string }
  }
  readonly time: { readonly created: number; readonly ran?: number; readonly completed?: number }
}
type RecordedPart =
  | { readonly type: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | RecordedTool
type RecordedMessage = {
  readonly id: string
  readonly type: string
  readonly time: { readonly created: number; readonly completed?: number }
  readonly text?: string
  readonly agent?: string
  readonly model?: { readonly id: string; readonly providerID: string; readonly variant?: string }
  readonly content?: readonly RecordedPart[]
  readonly finish?: string
  readonly error?: { readonly message: string }
  readonly cost?: number
  readonly tokens?: Json & { readonly cache: { readonly read: number; readonly write: number } }
}

const folder = new URL('../recordings/opencode-v2/', import.meta.url)

export const recordingFile = (name: string): URL => new URL(`${name}.json`, folder)

export const readRecordings = (): Recording[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => {
      const recording = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recording
      return { ...recording, name: file.replace(/\.json$/, '') }
    })

export const readRecording = (name: string): Recording =>
  readRecordings().find((recording) => recording.name === name)!

/**
 * What our transcript must say, from OpenCode's own messages. Every difference that
 * docs/adapters/opencode-v2.md lists is made here, and no other.
 */
export const expectedMessages = ({ messages }: Recording): Json[] =>
  messages.flatMap((message) => {
    const createdAt = iso(message.time.created)
    const row = { messageId: message.id, createdAt }
    switch (message.type) {
      case 'user':
        return [{ ...row, type: 'user', origin: 'input', text: message.text }]
      case 'assistant':
        return [{ ...row, ...assistant(message) }, ...answerRows(message)]
      case 'agent-switched':
        return [{ ...row, type: 'agent-selected', agent: message.agent }]
      case 'model-switched':
        return [{ ...row, type: 'model-selected', model: modelOf(message) }]
      default:
        throw new Error(`a recorded message is of the type ${message.type}`)
    }
  })

const assistant = (message: RecordedMessage): Json => {
  const { finish, error, time, cost, tokens } = message
  return {
    type: 'assistant',
    agent: message.agent,
    model: modelOf(message),
    parts: message.content!.map(partOf),
    // Difference 2: a failed step has its error and no finish `error`.
    ...(finish !== undefined && finish !== 'error' && { finish }),
    ...(error && { error: error.message }),
    // Difference 3: a step that never ended has failed, and says how.
    ...(finish === undefined && { error: unended(message) }),
    ...(time.completed !== undefined && { completedAt: iso(time.completed) }),
    ...(cost !== undefined && { cost }),
    ...(tokens && { tokens: flatTokens(tokens) }),
  }
}

const unended = (message: RecordedMessage): string => {
  const tools = message.content!.filter((part) => part.type === 'tool')
  return message.content!.length > 0 && tools.every(({ state }) => state.status === 'completed')
    ? 'the stream ended without a finish'
    : 'the step was broken off'
}

const partOf = (part: RecordedPart): Json => {
  if (part.type !== 'tool') return { type: part.type, partId: part.id, text: part.text }
  const { state, time } = part
  return {
    type: 'tool',
    partId: part.id,
    name: part.name,
    // Difference 4: every call is settled, one that OpenCode shows as running or pending too.
    status: 'settled',
    outcome: outcomeOf(part),
    content: state.content ?? [],
    ...(state.status === 'pending' ? { inputText: state.input } : { input: state.input }),
    // Difference 5: OpenCode shows `{}` where a call has no structured result.
    ...(state.structured &&
      Object.keys(state.structured).length > 0 && { structured: state.structured }),
    ...(state.error && { error: state.error.message }),
    created: iso(time.created),
    ...(time.ran !== undefined && { called: iso(time.ran) }),
    ...(time.completed !== undefined && { settled: iso(time.completed) }),
  }
}

const outcomeOf = ({ name, state }: RecordedTool): string => {
  if (state.status === 'completed') return 'ok'
  if (state.status === 'error') return 'error'
  // A question is asked, never dispatched.
  return state.status === 'running' && name !== 'question' ? 'unknown' : 'cancelled'
}

/** Difference 1: each answer is a user row, placed when it was given. */
const answerRows = (message: RecordedMessage): Json[] =>
  message.content!.flatMap((part) =>
    part.type === 'tool' && part.name === 'question' && part.state.structured?.answers
      ? [
          {
            type: 'user',
            origin: 'answer',
            answers: part.state.structured.answers,
            by: 'opencode',
            createdAt: iso(part.time.completed!),
          },
        ]
      : [],
  )

const modelOf = ({ model }: RecordedMessage): Json => ({
  modelId: model!.id,
  providerId: model!.providerID,
  ...(model!.variant !== undefined && { variant: model!.variant }),
})

const flatTokens = ({ cache, ...tokens }: NonNullable<RecordedMessage['tokens']>): Json => ({
  ...tokens,
  cacheRead: cache.read,
  cacheWrite: cache.write,
})

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()

type OurMessage = {
  readonly messageId: string
  readonly type: string
  readonly createdAt: string
  readonly completedAt?: string
  readonly origin?: string
  readonly by?: { readonly subject: string }
  readonly error?: { readonly message: string }
  readonly parts?: readonly OurPart[]
}
type OurPart = {
  readonly error?: { readonly message: string }
  readonly times?: { created: string; called?: string; dispatched?: string; settled?: string }
}

/** Our messages with what OpenCode says as well; ids of ours, turns and places are not compared. */
export const comparableMessages = (
  messages: readonly object[],
  { messages: recorded }: Recording,
): Json[] =>
  (messages as readonly OurMessage[]).map((message) => {
    const source = recorded.find(({ id }) => id === message.messageId)
    const { completedAt, by, error, parts, ...rest } = message
    const row = pick(rest, rowMembers)
    if (message.origin === 'answer') delete row['messageId']
    return {
      ...row,
      ...(by && { by: by.subject }),
      ...(error && { error: error.message }),
      ...(completedAt !== undefined && source?.time.completed !== undefined && { completedAt }),
      ...(parts && { parts: parts.map((part) => comparablePart(part, source)) }),
    }
  })

const comparablePart = (part: OurPart, source: RecordedMessage | undefined): Json => {
  const { error, times, ...rest } = part
  const row = pick(rest, partMembers)
  const recorded = source?.content?.find(({ id }) => id === row['partId'])
  const ran = recorded?.type === 'tool' && recorded.time.completed !== undefined
  return {
    ...row,
    ...(error && { error: error.message }),
    ...(times && { created: times.created }),
    ...(times?.called !== undefined && { called: times.called }),
    ...(ran && times?.settled !== undefined && { settled: times.settled }),
  }
}

const rowMembers = [
  'messageId',
  'type',
  'createdAt',
  'origin',
  'text',
  'answers',
  'agent',
  'model',
  'finish',
  'cost',
  'tokens',
]
const partMembers = [
  'type',
  'partId',
  'text',
  'name',
  'input',
  'inputText',
  'status',
  'outcome',
  'content',
  'structured',
]

const pick = (from: object, members: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(from).filter(([name]) => members.includes(name)))
