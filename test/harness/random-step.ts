import type { NewEvent } from '../../schema/events/envelope.ts'
import { event, model, stepEnded, tokens, type Rehearsal } from './rehearsal.ts'

export type StepWriter = {
  readonly session: Rehearsal
  readonly write: (...events: NewEvent[]) => void
  readonly id: (prefix: string) => string
  readonly below: (n: number) => number
  readonly chance: (p: number) => boolean
  readonly random: () => number
  /** All parts so far, of whatever attempt. */
  readonly parts: { messageId: string; partId: string }[]
}

/** Writes a step, in one attempt or more. True if the turn is to end here, with the step open or not. */
export const writeStep = (writer: StepWriter): boolean => {
  const { session, write, id, below, chance } = writer
  const messageId = id('msg')
  write(event('step.started', { messageId, attempt: 1, agent: 'build', model }))
  for (let attempt = 2; attempt < 5 && chance(0.25); attempt += 1) {
    writeTexts(writer, messageId)
    if (chance(0.5)) writeCalls(writer, messageId)
    if (chance(0.6)) stream(writer, messageId)
    const error = { kind: 'provider' as const, message: 'x' }
    write(event('step.retried', { messageId, attempt, error }))
  }
  writeTexts(writer, messageId)
  const calls = writeCalls(writer, messageId)
  if (chance(0.3)) stream(writer, messageId)
  if (calls[0] && chance(0.4)) {
    ask(writer, messageId, calls[0])
    if (chance(0.5)) return true
    settle(writer, messageId, calls.shift()!, 'denied')
  }
  // They settle in any order, some never.
  for (const callId of calls.toSorted(() => writer.random() - 0.5)) {
    const { status } = session.session.state.step!.calls![callId]!
    if (status === 'called' && chance(0.9)) write(event('tool.dispatched', { messageId, callId }))
    if (chance(0.8)) settle(writer, messageId, callId, chance(0.7) ? 'error' : 'unknown')
  }
  if (chance(0.1)) return true
  const open = session.session.state.step
  if (Object.keys(open?.calls ?? {}).length > 0 || open?.parts || chance(0.1)) {
    const error = { kind: 'provider' as const, message: 'x' }
    write(event('step.failed', { messageId, error, ...(chance(0.5) && { cost: 0.5, tokens }) }))
    return true
  }
  write(stepEnded(['tool-calls', 'stop'][below(2)]!, messageId))
  return false
}

const stream = ({ write, random, chance }: StepWriter, messageId: string): void => {
  const spent = { ...(chance(0.8) && { cost: random() }), ...(chance(0.8) && { tokens }) }
  write(event('step.streamed', { messageId, finish: 'stop', ...spent }))
}

const writeTexts = ({ write, id, chance, parts }: StepWriter, messageId: string): void => {
  for (const kind of ['reasoning', 'text'] as const) {
    const partId = kind.slice(0, 1)
    const started = chance(0.5)
    if (started) write(event(`${kind}.started`, { messageId, partId }))
    const ended = chance(0.8)
    if (ended) write(event(`${kind}.ended`, { messageId, partId, text: id('text') }))
    if (started || ended) parts.push({ messageId, partId })
  }
}

/** Calls of which none has settled; one may have been asked about and answered with silence. */
const writeCalls = (writer: StepWriter, messageId: string): string[] => {
  const { write, id, below, chance, parts } = writer
  const calls = Array.from({ length: below(4) }, () => id('call'))
  for (const callId of calls) {
    const name = 'bash'
    if (chance(0.3)) {
      write(event('tool.input.started', { messageId, callId, name }))
      if (chance(0.5)) write(event('tool.input.ended', { messageId, callId, text: '{"a"' }))
    }
    const effect = (['read', 'idempotent', 'once'] as const)[below(3)]!
    const executedBy = effect === 'once' || chance(0.9) ? 'host' : 'provider'
    write(event('tool.called', { messageId, callId, name, input: {}, effect, executedBy }))
    if (effect !== 'once' && chance(0.2)) write(event('tool.dispatched', { messageId, callId }))
    if (chance(0.1)) ask(writer, messageId, callId, 'permission')
    parts.push({ messageId, partId: callId })
  }
  return calls.filter((callId) => !isAsked(writer, callId))
}

const isAsked = ({ session }: StepWriter, callId: string): boolean =>
  session.session.state.step?.calls?.[callId]?.requestId !== undefined

const ask = (
  { write, id }: StepWriter,
  messageId: string,
  callId: string,
  kind: 'question' | 'permission' = 'question',
): void =>
  write(
    event('request.opened', {
      requestId: id('req'),
      kind,
      messageId,
      callId,
      ...(kind === 'question'
        ? { questions: [{ question: 'which?', options: [{ label: 'this' }] }] }
        : { permission: { action: 'run', resources: ['ls'] } }),
    }),
  )

const settle = (
  { write, chance }: StepWriter,
  messageId: string,
  callId: string,
  outcome: 'denied' | 'error' | 'unknown',
): void => {
  write(event('tool.settled', { messageId, callId, outcome, content: [] }))
  if (outcome === 'unknown' && chance(0.5))
    write(event('tool.resolved', { messageId, callId, outcome: 'ok', evidence: { seen: true } }))
}
