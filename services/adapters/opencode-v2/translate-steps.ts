import type { EventData } from '../../../schema/events/event-table.ts'
import { knownFinishes } from '../../../schema/events/step.ts'
import { toId } from './members.ts'
import { takeError, takeModel, takeSpent, takeState } from './shapes.ts'
import type { SourceEvent } from './source.ts'
import {
  derive,
  endTurn,
  keepForeign,
  newMessageId,
  startTurn,
  write,
  type SourceStep,
  type Translate,
  type Writer,
} from './writer.ts'

export const stepTranslations: Readonly<Record<string, Translate>> = {
  'step.started': (writer, source) => {
    if (writer.step) abandonStep(writer, source)
    if (!writer.turn) startTurn(writer, source, [])
    const { members } = source
    const named = members.peek('assistantMessageID')
    const messageId = newMessageId(writer, source, members.id('assistantMessageID'))
    write(writer, source, 'step.started', {
      messageId,
      attempt: 1,
      agent: members.text('agent') ?? '',
      model: takeModel(members),
    })
    writer.step = {
      messageId,
      sourceId: typeof named === 'string' ? toId(named) : '',
      partIds: new Set(),
      parts: new Map(),
      calls: new Map(),
      interrupted: false,
    }
  },
  'step.ended': (writer, source) => {
    const step = takeStep(writer, source)
    if (!step) return keepForeign(writer, source, 'its step is not open')
    const { messageId } = step
    const { members } = source
    const finish = members.peek('finish')
    settleLeftOpen(writer, step, source)
    const spent = takeSpent(members)
    const state = takeState(members, 'providerMetadata')
    writer.step = undefined
    if (typeof finish === 'string' && knownFinishes.has(finish)) {
      members.any('finish')
      write(writer, source, 'step.ended', { messageId, finish, ...spent, ...state })
      if (finish !== 'tool-calls') endTurn(writer, source, 'completed')
      // OpenCode does not go on after a call that a person stopped.
      else if (step.interrupted) endTurn(writer, source, 'interrupted')
      return
    }
    const message =
      typeof finish === 'string'
        ? `the step ended with finish "${finish}"`
        : 'the step ended without a finish'
    const error = { kind: 'incomplete' as const, message }
    write(writer, source, 'step.failed', { messageId, error, ...spent })
    writer.mended.add(`step ${messageId} ended without a known finish: it failed as incomplete`)
    endTurn(writer, source, 'failed')
  },
  'step.failed': (writer, source) => {
    const step = takeStep(writer, source)
    if (!step) return keepForeign(writer, source, 'its step is not open')
    const { messageId } = step
    const { members } = source
    const spent = members.peek('tokens') === undefined ? {} : takeSpent(members)
    const error = takeError(members, 'unspecified')
    write(writer, source, 'step.failed', { messageId, error, ...spent })
    writer.step = undefined
    endTurn(writer, source, 'failed')
  },
}

/** The step that the event is about, if that is the one that is open; its id is taken then. */
export const takeStep = (writer: Writer, source: SourceEvent): SourceStep | undefined => {
  const named = source.members.peek('assistantMessageID')
  if (!writer.step || typeof named !== 'string' || toId(named) !== writer.step.sourceId) {
    return undefined
  }
  if (named === writer.step.messageId) source.members.any('assistantMessageID')
  return writer.step
}

/** Whether all that the step had begun has come to its end, so that only the step's own is missing. */
export const seemsDone = (step: SourceStep): boolean =>
  step.partIds.size > 0 && step.parts.size === 0 && step.calls.size === 0

/** How a step failed that never ended: its stream had no finish, or it was broken off. */
export const abandonedKind = (step: SourceStep): 'incomplete' | 'aborted' =>
  seemsDone(step) && !step.interrupted ? 'incomplete' : 'aborted'

/** Ends the open step, which the source has left behind. What is open in it the store closes. */
export const abandonStep = (writer: Writer, source: SourceEvent): 'incomplete' | 'aborted' => {
  const { messageId } = writer.step!
  const kind = abandonedKind(writer.step!)
  derive(writer, source, 'step before failed', 'step.failed', {
    messageId,
    error: abandonedError(kind),
  })
  writer.mended.add(`step ${messageId} never ended: it failed as ${kind}`)
  writer.step = undefined
  return kind
}

export const abandonedError = (
  kind: 'incomplete' | 'aborted',
): EventData<'step.failed'>['error'] => ({
  kind,
  message: kind === 'incomplete' ? 'the stream ended without a finish' : 'the step was broken off',
})

/** A step of the source may end while a call is open; here every call settles before its step ends. */
const settleLeftOpen = (writer: Writer, step: SourceStep, source: SourceEvent): void => {
  for (const { callId, dispatched } of step.calls.values()) {
    derive(writer, source, `settled ${callId}`, 'tool.settled', {
      messageId: step.messageId,
      callId,
      outcome: dispatched ? 'unknown' : 'cancelled',
      content: [],
    })
    writer.mended.add(`call ${callId} of message ${step.messageId} was open when its step ended`)
  }
}
