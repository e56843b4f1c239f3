import type { EventData } from '../../../schema/events/event-table.ts'
import { deriveId } from '../../log/new-id.ts'
import { isRecord, type OpencodeEvent } from './source.ts'
import { causeOf, derive, keepForeign, write, type Writer } from './writer.ts'

type Translate = (writer: Writer, source: OpencodeEvent) => void
type Finish = NonNullable<EventData<'step.ended'>['finish']>

const knownFinishes: ReadonlySet<string> = new Set<Finish>([
  'stop',
  'tool-calls',
  'length',
  'content-filter',
  'refusal',
])

export const inputTranslations: Readonly<Record<string, Translate>> = {
  'prompt.admitted': (writer, source) => {
    const messageId = textOf(source, 'messageID')
    if (writer.admitted.has(messageId)) return keepForeign(writer, source, 'it was admitted before')
    writer.admitted.set(messageId, promptText(source))
    write(writer, source, 'input.admitted', admission(source), promptRest(source))
  },
  prompted: (writer, source) => {
    const messageId = textOf(source, 'messageID')
    const cause = causeOf(source)
    if (!writer.admitted.has(messageId)) {
      derive(writer, cause, 'admitted', 'input.admitted', admission(source))
      writer.mended.add(`input ${messageId} was delivered without having been admitted`)
    }
    if (!writer.turn) startTurn(writer, cause, [messageId])
    const rest =
      writer.admitted.get(messageId) === promptText(source) ? {} : { prompt: source.data['prompt'] }
    const data = { messageId, turnId: writer.turn!.turnId }
    write(writer, source, 'input.delivered', data, { ...promptRest(source), ...rest })
  },
}

export const stepTranslations: Readonly<Record<string, Translate>> = {
  'step.started': (writer, source) => {
    const cause = causeOf(source)
    if (writer.step) {
      derive(writer, cause, 'step before failed', 'step.failed', {
        messageId: writer.step.messageId,
        error: { kind: 'incomplete', message: 'the next step began before this one had ended' },
      })
      writer.mended.add(`step ${writer.step.messageId} never ended: it failed as incomplete`)
      writer.step = undefined
    }
    if (!writer.turn) startTurn(writer, cause, [])
    const messageId = textOf(source, 'assistantMessageID')
    const { snapshot } = source.data
    const data = {
      messageId,
      attempt: 1,
      agent: textOf(source, 'agent'),
      model: modelOf(source.data['model']),
    }
    write(writer, source, 'step.started', data, { snapshot })
    writer.step = { messageId, parts: new Map(), calls: new Map(), interrupted: false }
  },
  'step.ended': (writer, source) => {
    const step = stepOf(writer, source)
    if (!step) return keepForeign(writer, source, 'its step is not open')
    const { snapshot, files } = source.data
    const finish = source.data['finish']
    settleLeftOpen(writer, source)
    if (typeof finish !== 'string' || !knownFinishes.has(finish)) {
      const error = {
        kind: 'incomplete' as const,
        message: `the step ended with ${String(finish)}`,
      }
      write(
        writer,
        source,
        'step.failed',
        { messageId: step.messageId, error, ...spentOf(source) },
        { snapshot, files, finish },
      )
      writer.mended.add(
        `step ${step.messageId} ended without a known finish: it failed as incomplete`,
      )
      writer.step = undefined
      return endTurn(writer, source, 'failed')
    }
    const data = { messageId: step.messageId, finish, ...spentOf(source) }
    write(writer, source, 'step.ended', data, { snapshot, files })
    writer.step = undefined
    if (finish !== 'tool-calls') endTurn(writer, source, 'completed')
    else if (step.interrupted) endTurn(writer, source, 'interrupted')
  },
  'step.failed': (writer, source) => {
    const step = stepOf(writer, source)
    if (!step) return keepForeign(writer, source, 'its step is not open')
    const { error, errorRest } = errorOf(source, 'unspecified')
    write(writer, source, 'step.failed', { messageId: step.messageId, error }, errorRest)
    writer.step = undefined
    endTurn(writer, source, 'failed')
  },
}

/** A step of the source may end while a call is open; here every call settles before its step ends. */
const settleLeftOpen = (writer: Writer, source: OpencodeEvent): void => {
  for (const [callId, call] of writer.step!.calls) {
    derive(writer, causeOf(source), `settled ${callId}`, 'tool.settled', {
      messageId: writer.step!.messageId,
      callId,
      outcome: call.dispatched ? 'unknown' : 'cancelled',
      content: [],
    })
    writer.mended.add(`call ${callId} was open when its step ended`)
  }
}

const startTurn = (writer: Writer, cause: { id: string; at: string }, inputs: string[]): void => {
  writer.fence += 1
  const turnId = deriveId('trn', writer.sessionId, cause.id)
  writer.turn = { turnId, fence: writer.fence }
  derive(writer, cause, 'turn started', 'turn.started', {
    turnId,
    ownerId: 'opencode',
    fence: writer.fence,
    inputs,
  })
}

const endTurn = (
  writer: Writer,
  source: OpencodeEvent,
  outcome: EventData<'turn.ended'>['outcome'],
): void => {
  if (!writer.turn) return
  derive(writer, causeOf(source), 'turn ended', 'turn.ended', { ...writer.turn, outcome })
  writer.turn = undefined
}

const admission = (source: OpencodeEvent): EventData<'input.admitted'> => ({
  messageId: textOf(source, 'messageID'),
  kind: 'prompt',
  text: promptText(source),
  delivery: source.data['delivery'] === 'steer' ? 'steer' : 'queue',
})

const promptText = (source: OpencodeEvent): string => {
  const prompt = source.data['prompt']
  return isRecord(prompt) && typeof prompt['text'] === 'string' ? prompt['text'] : ''
}

/** Members of a prompt beside its text: files, agents and what else a version of OpenCode adds. */
const promptRest = (source: OpencodeEvent): Readonly<Record<string, unknown>> => {
  const { text: _, ...rest } = isRecord(source.data['prompt']) ? source.data['prompt'] : {}
  return Object.keys(rest).length > 0 ? { prompt: rest } : {}
}

/** The step that the event is about, if that is the one that is open. */
export const stepOf = (writer: Writer, source: OpencodeEvent) =>
  writer.step?.messageId === source.data['assistantMessageID'] ? writer.step : undefined

export const textOf = (source: OpencodeEvent, member: string): string => {
  const value = source.data[member]
  return typeof value === 'string' ? value : ''
}

export const modelOf = (value: unknown): EventData<'step.started'>['model'] => {
  const { id, providerID, variant } = isRecord(value) ? value : {}
  return {
    modelId: typeof id === 'string' ? id : '',
    providerId: typeof providerID === 'string' ? providerID : '',
    ...(typeof variant === 'string' && { variant }),
  }
}

export const errorOf = (
  source: OpencodeEvent,
  kind: EventData<'step.failed'>['error']['kind'],
): { error: EventData<'step.failed'>['error']; errorRest: Readonly<Record<string, unknown>> } => {
  const error = source.data['error']
  const { message, ...rest } = isRecord(error) ? error : {}
  return {
    error: { kind, message: typeof message === 'string' ? message : '' },
    errorRest: { error: rest },
  }
}

const spentOf = (source: OpencodeEvent): Pick<EventData<'step.ended'>, 'cost' | 'tokens'> => {
  const tokens = isRecord(source.data['tokens']) ? source.data['tokens'] : {}
  const cache = isRecord(tokens['cache']) ? tokens['cache'] : {}
  return {
    cost: numberOf(source.data['cost']),
    tokens: {
      input: numberOf(tokens['input']),
      output: numberOf(tokens['output']),
      reasoning: numberOf(tokens['reasoning']),
      cacheRead: numberOf(cache['read']),
      cacheWrite: numberOf(cache['write']),
    },
  }
}

const numberOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0
