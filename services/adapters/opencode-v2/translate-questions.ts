import type { EventData } from '../../../schema/events/event-table.ts'
import type { Question } from '../../../schema/events/shapes.ts'
import { deriveId } from '../../log/new-id.ts'
import { isRecord, isText } from './members.ts'
import type { SourceEvent } from './source.ts'
import { derive, type SourceCall, type Writer } from './writer.ts'

export const isQuestion = (tool: string): boolean => tool === 'question'

/** OpenCode asks with a tool: the request is open as long as its call is. */
export const openQuestion = (
  writer: Writer,
  source: SourceEvent,
  messageId: string,
  call: SourceCall,
  input: unknown,
): void => {
  const requestId = deriveId('req', writer.sessionId, messageId, call.callId)
  call.requestId = requestId
  const questions = questionsOf(input)
  derive(writer, source, 'request opened', 'request.opened', {
    requestId,
    kind: 'question',
    messageId,
    callId: call.callId,
    ...(questions && { questions }),
  })
}

/**
 * The end of the request with its call. An answer exists in OpenCode only as the result of the call:
 * here it is a user row. Gives whether there was one.
 */
export const closeQuestion = (
  writer: Writer,
  source: SourceEvent,
  requestId: string,
  outcome: 'ok' | 'error',
): boolean => {
  const structured = source.members.peek('structured')
  const answers = isRecord(structured) ? answersOf(structured['answers']) : undefined
  if (outcome === 'ok' && answers) {
    derive(writer, source, 'request answered', 'request.answered', {
      requestId,
      messageId: deriveId('msg', writer.sessionId, requestId, 'answer'),
      answers,
      by: { subject: 'opencode' },
    })
    return true
  }
  const reason = outcome === 'ok' ? 'dismissed' : 'cancelled'
  derive(writer, source, 'request closed', 'request.closed', { requestId, reason })
  if (outcome === 'ok') {
    writer.mended.add(`question ${requestId} came out well without answers: it was dismissed`)
  }
  return false
}

type Answers = NonNullable<EventData<'request.answered'>['answers']>

const answersOf = (value: unknown): Answers | undefined =>
  Array.isArray(value) &&
  value.every((a: unknown) => a === null || (Array.isArray(a) && a.every(isText)))
    ? value
    : undefined

/** undefined if the input is not what the question tool takes: it stays with the call. */
const questionsOf = (input: unknown): Question[] | undefined => {
  const list: unknown = isRecord(input) ? input['questions'] : undefined
  if (!Array.isArray(list)) return undefined
  const questions = list.flatMap((item: unknown) => questionOf(item) ?? [])
  return questions.length === list.length ? questions : undefined
}

const questionOf = (value: unknown): Question | undefined => {
  if (!isRecord(value) || !isText(value['question'])) return undefined
  const { question, header, multiple, custom } = value
  const given: readonly unknown[] = Array.isArray(value['options']) ? value['options'] : []
  return {
    question,
    ...(isText(header) && { header }),
    options: given.flatMap((option) => {
      if (!isRecord(option) || !isText(option['label'])) return []
      const { label, description } = option
      return [{ label, ...(isText(description) && { description }) }]
    }),
    ...(typeof multiple === 'boolean' && { multiple }),
    ...(typeof custom === 'boolean' && { custom }),
  }
}
