import { Refusal } from '../../../schema/errors.ts'
import type { EventData } from '../../../schema/events/event-table.ts'
import type { Question } from '../../../schema/events/shapes.ts'
import type { Answer } from '../command.ts'

/** Throws Refusal `invalid_body` with pointers if that is no answer to what was asked. */
export const checkAnswer = (asked: EventData<'request.opened'>, answer: Answer): void => {
  const member = memberOf[asked.kind]
  if (!(member in answer)) {
    throw wrong(`/${member}`, `must be there: request ${asked.requestId} is a ${asked.kind}`)
  }
  if ('answers' in answer) checkAnswers(asked.questions ?? [], answer.answers)
  if ('action' in answer && answer.action !== 'accept' && answer.content !== undefined) {
    throw wrong('/content', `must not be there: the action is ${answer.action}`)
  }
}

const memberOf = { question: 'answers', permission: 'decision', elicitation: 'action' } as const

type Answers = Extract<Answer, { answers: unknown }>['answers']

const checkAnswers = (questions: readonly Question[], answers: Answers): void => {
  if (answers.length !== questions.length) {
    throw wrong('/answers', `must be ${questions.length}, one for each question`)
  }
  questions.forEach((question, index) => {
    const given = answers[index]
    // Skipped.
    if (given === null || given === undefined) return
    if (given.length === 0) {
      throw wrong(`/answers/${index}`, 'must hold a label or text; null says that it was skipped')
    }
    if (!question.multiple && given.length > 1) {
      throw wrong(`/answers/${index}`, 'must be one: the question takes one answer')
    }
    if (question.custom || question.options.length === 0) return
    const labels = new Set(question.options.map(({ label }) => label))
    const unknown = given.findIndex((text) => !labels.has(text))
    if (unknown >= 0) throw wrong(`/answers/${index}/${unknown}`, 'must be the label of an option')
  })
}

const wrong = (pointer: string, detail: string): Refusal =>
  new Refusal('invalid_body', 'this is no answer to what was asked', {
    faults: [{ pointer, detail }],
  })
