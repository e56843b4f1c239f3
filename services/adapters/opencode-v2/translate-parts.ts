import type { EventData } from '../../../schema/events/event-table.ts'
import { deriveId } from '../../log/new-id.ts'
import { isRecord, type OpencodeEvent } from './source.ts'
import { errorOf, modelOf, stepOf, textOf } from './translate-turns.ts'
import { causeOf, derive, keepForeign, write, type SourceCall, type Writer } from './writer.ts'

type Translate = (writer: Writer, source: OpencodeEvent) => void

/** Tools that only look. Whatever else there is may act, and is not repeated. */
const readingTools: ReadonlySet<string> = new Set(['read', 'grep', 'glob', 'list'])
const questionTool = 'question'
/** What OpenCode writes for a call that a person stopped. */
const interruptedMessage = 'Tool execution interrupted'

export const partTranslations: Readonly<Record<string, Translate>> = {
  'text.started': (writer, source) => startText(writer, source, 'text', 'textID'),
  'text.ended': (writer, source) => endText(writer, source, 'text', 'textID'),
  'reasoning.started': (writer, source) => startText(writer, source, 'reasoning', 'reasoningID'),
  'reasoning.ended': (writer, source) => endText(writer, source, 'reasoning', 'reasoningID'),
  'tool.input.started': (writer, source) => {
    const step = stepOf(writer, source)
    const callId = textOf(source, 'callID')
    if (!step || step.calls.has(callId)) return keepForeign(writer, source, 'it has no place')
    const name = textOf(source, 'name')
    write(writer, source, 'tool.input.started', { messageId: step.messageId, callId, name })
    step.calls.set(callId, { name, called: false, dispatched: false })
  },
  'tool.input.ended': (writer, source) => {
    const step = stepOf(writer, source)
    const callId = textOf(source, 'callID')
    const call = step?.calls.get(callId)
    if (!step || call?.called) return keepForeign(writer, source, 'it has no place')
    if (!call) step.calls.set(callId, { name: '', called: false, dispatched: false })
    const data = { messageId: step.messageId, callId, text: textOf(source, 'text') }
    write(writer, source, 'tool.input.ended', data)
  },
  'tool.called': (writer, source) => {
    const step = stepOf(writer, source)
    const callId = textOf(source, 'callID')
    if (!step || step.calls.get(callId)?.called) {
      return keepForeign(writer, source, 'it has no place')
    }
    const name = textOf(source, 'tool')
    const provider = executedByProvider(source)
    write(
      writer,
      source,
      'tool.called',
      {
        messageId: step.messageId,
        callId,
        name,
        input: source.data['input'] ?? null,
        effect: readingTools.has(name) ? 'read' : 'once',
        executedBy: provider ? 'provider' : 'host',
      },
      providerRest(source),
    )
    const call: SourceCall = { name, called: true, dispatched: false }
    step.calls.set(callId, call)
    if (name === questionTool) openQuestion(writer, source, step.messageId, callId, call)
    else if (!provider) {
      // OpenCode runs a call as soon as it is there, and does not say so.
      derive(writer, causeOf(source), 'dispatched', 'tool.dispatched', {
        messageId: step.messageId,
        callId,
      })
      call.dispatched = true
    }
  },
  'tool.success': (writer, source) => settle(writer, source, 'ok'),
  'tool.failed': (writer, source) => settle(writer, source, 'error'),
}

export const selectionTranslations: Readonly<Record<string, Translate>> = {
  'agent.switched': (writer, source) =>
    write(writer, source, 'agent.selected', {
      messageId: textOf(source, 'messageID'),
      agent: textOf(source, 'agent'),
    }),
  'model.switched': (writer, source) =>
    write(writer, source, 'model.selected', {
      messageId: textOf(source, 'messageID'),
      model: modelOf(source.data['model']),
    }),
}

type TextKind = 'text' | 'reasoning'

const startText = (
  writer: Writer,
  source: OpencodeEvent,
  kind: TextKind,
  idMember: string,
): void => {
  const step = stepOf(writer, source)
  const partId = textOf(source, idMember)
  if (!step || step.parts.has(partId)) return keepForeign(writer, source, 'it has no place')
  write(writer, source, `${kind}.started`, { messageId: step.messageId, partId })
  step.parts.set(partId, kind)
}

const endText = (writer: Writer, source: OpencodeEvent, kind: TextKind, idMember: string): void => {
  const step = stepOf(writer, source)
  const partId = textOf(source, idMember)
  if (!step) return keepForeign(writer, source, 'its step is not open')
  const { providerMetadata } = source.data
  write(writer, source, `${kind}.ended`, {
    messageId: step.messageId,
    partId,
    text: textOf(source, 'text'),
    ...(providerMetadata !== undefined && { providerState: providerMetadata }),
  })
  step.parts.delete(partId)
}

const openQuestion = (
  writer: Writer,
  source: OpencodeEvent,
  messageId: string,
  callId: string,
  call: SourceCall,
): void => {
  const requestId = deriveId('req', writer.sessionId, messageId, callId)
  call.requestId = requestId
  derive(writer, causeOf(source), 'request opened', 'request.opened', {
    requestId,
    kind: 'question',
    messageId,
    callId,
    questions: questionsOf(source.data['input']),
  })
}

const settle = (writer: Writer, source: OpencodeEvent, outcome: 'ok' | 'error'): void => {
  const step = stepOf(writer, source)
  const callId = textOf(source, 'callID')
  const call = step?.calls.get(callId)
  if (!step || !call) return keepForeign(writer, source, 'its call is not open')
  const { structured } = source.data
  const { error, errorRest } = errorOf(source, 'tool')
  const answers = isRecord(structured) ? structured['answers'] : undefined
  if (call.requestId !== undefined) {
    if (outcome === 'ok') answer(writer, source, call.requestId, answers)
    else {
      derive(writer, causeOf(source), 'request closed', 'request.closed', {
        requestId: call.requestId,
        reason: 'cancelled',
      })
    }
  }
  if (outcome === 'error' && error.message === interruptedMessage) step.interrupted = true
  // A call that is reported as done without having been recorded was never dispatched here.
  const possible = outcome === 'error' || call.called ? outcome : 'unknown'
  write(
    writer,
    source,
    'tool.settled',
    {
      messageId: step.messageId,
      callId,
      outcome: possible,
      content: contentOf(source.data['content']),
      ...(structured !== undefined && { structured }),
      ...(outcome === 'error' && { error }),
    },
    {
      ...providerRest(source),
      ...(source.data['outputPaths'] !== undefined && { outputPaths: source.data['outputPaths'] }),
      ...(source.data['result'] !== undefined && { result: source.data['result'] }),
      ...(outcome === 'error' && errorRest),
      ...contentRest(source.data['content']),
    },
  )
  step.calls.delete(callId)
}

/** The answer to a question exists in OpenCode only as the result of the call: here it is a user row. */
const answer = (writer: Writer, source: OpencodeEvent, requestId: string, answers: unknown): void =>
  derive(writer, causeOf(source), 'request answered', 'request.answered', {
    requestId,
    messageId: deriveId('msg', writer.sessionId, requestId, 'answer'),
    answers: Array.isArray(answers) ? answers.map(answerOf) : [],
    by: { subject: 'opencode' },
  })

const answerOf = (value: unknown): string[] | null => {
  if (value === null) return null
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((label) => (typeof label === 'string' ? label : JSON.stringify(label)))
}

const questionsOf = (input: unknown): NonNullable<EventData<'request.opened'>['questions']> => {
  const list = isRecord(input) && Array.isArray(input['questions']) ? input['questions'] : []
  return list.filter(isRecord).map((question) => ({
    question: typeof question['question'] === 'string' ? question['question'] : '',
    ...(typeof question['header'] === 'string' && { header: question['header'] }),
    options: (Array.isArray(question['options']) ? question['options'] : [])
      .filter(isRecord)
      .map((option) => ({
        label: typeof option['label'] === 'string' ? option['label'] : '',
        ...(typeof option['description'] === 'string' && { description: option['description'] }),
      })),
    ...(typeof question['multiple'] === 'boolean' && { multiple: question['multiple'] }),
    ...(typeof question['custom'] === 'boolean' && { custom: question['custom'] }),
  }))
}

const isText = (item: unknown): item is { type: 'text'; text: string } =>
  isRecord(item) && item['type'] === 'text' && typeof item['text'] === 'string'

const contentOf = (content: unknown): EventData<'tool.settled'>['content'] =>
  (Array.isArray(content) ? content : []).filter(isText).map(({ text }) => ({ type: 'text', text }))

/** Content that is not text stays where nothing is lost. */
const contentRest = (content: unknown): Readonly<Record<string, unknown>> => {
  const rest = (Array.isArray(content) ? content : []).filter((item) => !isText(item))
  return rest.length > 0 ? { content: rest } : {}
}

const executedByProvider = (source: OpencodeEvent): boolean =>
  isRecord(source.data['provider']) && source.data['provider']['executed'] === true

const providerRest = (source: OpencodeEvent): Readonly<Record<string, unknown>> =>
  isRecord(source.data['provider']) ? { provider: source.data['provider'] } : {}
