import type { Members } from './members.ts'
import { takeContent, takeError, takeState } from './shapes.ts'
import type { SourceEvent } from './source.ts'
import { closeQuestion, isQuestion, openQuestion } from './translate-questions.ts'
import { takeStep } from './translate-steps.ts'
import {
  derive,
  keepForeign,
  newPartId,
  write,
  type SourceCall,
  type SourceStep,
  type Translate,
  type Writer,
} from './writer.ts'

/** Tools that only look. Whatever else there is may act, and is not repeated. */
const readingTools: ReadonlySet<string> = new Set(['read', 'grep', 'glob', 'list'])

/** What OpenCode writes for a call that a person stopped. */
const interruptedMessage = 'Tool execution interrupted'

export const toolTranslations: Readonly<Record<string, Translate>> = {
  'tool.input.started': (writer, source) => {
    const { step, named } = takeCall(writer, source)
    if (!step || named === undefined) return keepForeign(writer, source, 'its step is not open')
    if (step.calls.has(named)) return keepForeign(writer, source, 'its call is there')
    const name = source.members.text('name') ?? ''
    const { callId } = begin(writer, step, named, name)
    write(writer, source, 'tool.input.started', { messageId: step.messageId, callId, name })
  },
  'tool.input.ended': (writer, source) => {
    const { step, named, call: open } = takeCall(writer, source)
    if (!step || named === undefined) return keepForeign(writer, source, 'its step is not open')
    if (open?.inputEnded || open?.called) {
      return keepForeign(writer, source, 'the input of its call is there')
    }
    const name = source.members.text('name')
    const call = open ?? begin(writer, step, named, name ?? '')
    call.inputEnded = true
    write(writer, source, 'tool.input.ended', {
      messageId: step.messageId,
      callId: call.callId,
      ...(name !== undefined && { name }),
      text: source.members.text('text') ?? '',
    })
  },
  'tool.called': (writer, source) => {
    const { step, named, call: open } = takeCall(writer, source)
    if (!step || named === undefined) return keepForeign(writer, source, 'its step is not open')
    if (open?.called) return keepForeign(writer, source, 'its call is there')
    const { members } = source
    const name = members.text('tool') ?? open?.name ?? ''
    const { messageId } = step
    const provider = members.within('provider')
    const byProvider = provider.peek('executed') === true
    takeExecuted(provider, byProvider)
    const begun = open ?? begin(writer, step, named, name)
    const call = { ...begun, name, called: true, byProvider }
    step.calls.set(named, call)
    const question = isQuestion(name) && !byProvider
    const input = members.peek('input') === undefined ? null : members.any('input')
    write(writer, source, 'tool.called', {
      messageId,
      callId: call.callId,
      name,
      input,
      effect: readingTools.has(name) ? 'read' : 'once',
      executedBy: byProvider ? 'provider' : 'host',
      ...takeState(provider, 'metadata'),
    })
    if (question) openQuestion(writer, source, messageId, call, input)
    // OpenCode runs a call as soon as it is there, and does not say so.
    else if (!byProvider) dispatch(writer, source, messageId, call)
    else call.dispatched = true
  },
  'tool.success': (writer, source) => settle(writer, source, 'ok'),
  'tool.failed': (writer, source) => settle(writer, source, 'error'),
}

const takeCall = (
  writer: Writer,
  source: SourceEvent,
): { step?: SourceStep; named?: string; call?: SourceCall } => {
  const step = takeStep(writer, source)
  const named = source.members.id('callID')
  if (!step || named === undefined) return {}
  const call = step.calls.get(named)
  return { step, named, ...(call && { call }) }
}

/** Who runs the call is said once, with the call. */
const takeExecuted = (provider: Members, byProvider: boolean): void => {
  if (provider.peek('executed') === byProvider) provider.any('executed')
}

const begin = (writer: Writer, step: SourceStep, named: string, name: string): SourceCall => {
  const callId = newPartId(writer, step, named)
  const call = {
    callId,
    name,
    called: false,
    byProvider: false,
    dispatched: false,
    inputEnded: false,
  }
  step.calls.set(named, call)
  return call
}

const dispatch = (
  writer: Writer,
  source: SourceEvent,
  messageId: string,
  call: SourceCall,
): void => {
  derive(writer, source, 'dispatched', 'tool.dispatched', { messageId, callId: call.callId })
  call.dispatched = true
}

const settle = (writer: Writer, source: SourceEvent, outcome: 'ok' | 'error'): void => {
  const { step, named, call } = takeCall(writer, source)
  if (!step || named === undefined || !call) {
    return keepForeign(writer, source, 'its call is not open')
  }
  const { messageId } = step
  const { members } = source
  if (outcome === 'ok' && !call.called) callNow(writer, source, messageId, call)
  if (call.requestId !== undefined) {
    const answered = closeQuestion(writer, source, call.requestId, outcome)
    // Only what was answered or dispatched can have come out well (rule 10).
    if (outcome === 'ok' && !answered) dispatch(writer, source, messageId, call)
  }
  const provider = members.within('provider')
  takeExecuted(provider, call.byProvider)
  const structured = members.peek('structured')
  const data = {
    messageId,
    callId: call.callId,
    outcome,
    content: takeContent(members),
    ...(structured !== undefined && { structured: members.any('structured') }),
    ...(outcome === 'error' && { error: takeError(members, 'tool') }),
    ...takeState(provider, 'metadata'),
  }
  if (data.error?.message === interruptedMessage) step.interrupted = true
  write(writer, source, 'tool.settled', data)
  step.calls.delete(named)
}

/** A call that came out well was made, though the source does not say with what input. */
const callNow = (
  writer: Writer,
  source: SourceEvent,
  messageId: string,
  call: SourceCall,
): void => {
  const { callId, name } = call
  derive(writer, source, 'called', 'tool.called', {
    messageId,
    callId,
    name,
    input: null,
    effect: readingTools.has(name) ? 'read' : 'once',
    executedBy: 'host',
  })
  call.called = true
  dispatch(writer, source, messageId, call)
  writer.mended.add(`call ${callId} of message ${messageId} came out well without a record of it`)
}
