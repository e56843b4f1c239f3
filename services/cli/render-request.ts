import type { Static } from 'typebox'
import type { Message } from '../../schema/http/messages.ts'
import type { RequestNote } from './transcript-notes.ts'
import { visible, visibleLine } from './visible.ts'

type Asked = Pick<RequestNote['opened'], 'kind' | 'questions' | 'permission'>

/** What a request asks, on one line. */
export const renderAsked = ({ kind, questions, permission }: Asked): string => {
  if (permission) {
    const { action, resources } = permission
    return visibleLine(`${action}${resources.length > 0 ? ` (${resources.join(', ')})` : ''}`)
  }
  if (questions) return visibleLine(questions.map(renderQuestion).join(' / '))
  return kind
}

const renderQuestion = ({ question, options }: NonNullable<Asked['questions']>[number]): string =>
  options.length > 0 ? `${question} (${options.map(({ label }) => label).join(', ')})` : question

/** How a request ended without an answer. */
export const renderClosed = ({ reason, messageId }: NonNullable<RequestNote['closed']>): string => {
  if (reason === 'replied' && messageId !== undefined) {
    return `${closings.replied} (${visibleLine(messageId)})`
  }
  return closings[reason]
}

const closings = {
  rejected: 'rejected by the person',
  dismissed: 'dismissed by the person',
  replied: 'not answered: the person sent a message instead',
  cancelled: 'cancelled before anybody answered',
  expired: 'nobody answered in time',
  superseded: 'superseded: the step was tried again',
} as const

/** What a person answered: a line for each question, with the question where it is known. */
export const renderAnswer = (
  message: Static<typeof Message>,
  asked: Asked | undefined,
): readonly string[] => {
  const { answers, decision, action, content, message: words } = message
  const lines = (answers ?? []).map((labels, index) => {
    const question = asked?.questions?.[index]?.question
    const chosen =
      labels === null ? 'skipped' : labels.length === 0 ? 'nothing chosen' : labels.join(', ')
    return question === undefined ? visible(chosen) : visible(`${question} ${chosen}`)
  })
  if (decision !== undefined) {
    const about = asked?.permission ? `${renderAsked(asked)}: ` : ''
    lines.push(about + (decisions[decision] ?? visibleLine(decision)))
  }
  if (action !== undefined) lines.push(actions[action] ?? visibleLine(action))
  if (content !== undefined) lines.push(visibleLine(JSON.stringify(content)))
  if (words) lines.push(visible(words))
  return lines
}

const decisions: Readonly<Record<string, string>> = {
  allow_once: 'allowed once',
  allow_always: 'allowed, also later',
  reject_once: 'not allowed',
  reject_always: 'not allowed, nor later',
}

const actions: Readonly<Record<string, string>> = {
  accept: 'accepted',
  decline: 'declined',
  cancel: 'cancelled',
}
