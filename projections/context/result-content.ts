import type { Content } from '../../schema/events/shapes.ts'
import type { Message, MessagePart } from '../transcript/to-message.ts'
import { answerWords } from './answer-words.ts'
import { isBlank } from './is-blank.ts'

/**
 * The content of a settled call's result, without blank texts and never empty: an error or an end
 * that nobody knows is said in it, for not all providers have a mark for one. Where the host wrote
 * nothing, its structured result stands, the answer of the person, or a sentence.
 */
export const resultContent = (
  part: MessagePart,
  outcome: string,
  answer: Message | undefined,
): Content => {
  const { resolved, error, structured } = part
  const written = withoutBlanks((resolved?.content as Content | undefined) ?? part.content ?? [])
  const note = noteOf(outcome, resolved ? undefined : error?.message)
  if (written.length > 0) {
    const isSaid = written.some((item) => item.type === 'text' && item.text.includes(note))
    return (outcome === 'error' || outcome === 'unknown') && !isSaid
      ? [...written, text(note)]
      : written
  }
  if (structured !== undefined && outcome === 'ok') return [text(JSON.stringify(structured))]
  if (!answer) return [text(note)]
  return [text(outcome === 'ok' ? answerWords(answer) : `${note} ${answerWords(answer)}`)]
}

export const waitingContent = (): Content => [text('This call waits for an answer from a person.')]

export const excludedText = (reason: string): string =>
  isBlank(reason) ? '[left out]' : `[left out: ${reason}]`

export const excludedContent = (reason: string): Content => [text(excludedText(reason))]

const noteOf = (outcome: string, message: string | undefined): string => {
  switch (outcome) {
    case 'ok':
      return '(no output)'
    case 'error':
      return isBlank(message) ? 'The call failed.' : message!
    case 'denied':
      return 'This call was not allowed.'
    case 'cancelled':
      return 'This call was cancelled.'
    default:
      return 'It is not known what came of this call: it may have run.'
  }
}

const withoutBlanks = (content: Content): Content =>
  content.filter((item) => item.type !== 'text' || !isBlank(item.text))

const text = (said: string): Content[number] => ({ type: 'text', text: said })
