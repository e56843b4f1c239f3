import type { Message } from '../transcript/to-message.ts'
import { isBlank } from './is-blank.ts'

/** What a person answered, as a text for a model; never blank. */
export const answerWords = (answer: Message): string => {
  const { answers, decision, action, content, message } = answer
  const said = [
    answers?.map((chosen) => chosen?.join(', ') ?? '(skipped)').join('; '),
    decision === undefined ? undefined : decisions[decision],
    action === undefined ? undefined : (actions[action] ?? action),
    content === undefined ? undefined : JSON.stringify(content),
    message,
  ].filter((text) => !isBlank(text))
  return said.length > 0 ? said.join(' ') : '(answered with nothing)'
}

const decisions = {
  allow_once: 'Allowed once.',
  allow_always: 'Allowed, also later.',
  reject_once: 'Not allowed.',
  reject_always: 'Not allowed, nor later.',
} as const

const actions: Readonly<Record<string, string>> = {
  accept: 'Accepted.',
  decline: 'Declined.',
  cancel: 'Cancelled.',
}
