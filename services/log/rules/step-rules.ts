import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import { knownFinishes } from '../../../schema/events/step.ts'
import { withMembers, type OpenStep } from '../session-state.ts'
import { bring, lookup, messageName, type Draft } from './draft.ts'
import type { RulesOf } from './rule.ts'

type StepEvent = Extract<EventType, `step.${string}`>

/** A bound on the attempts of one step, so that all that a message ever had can be looked up. */
export const mostAttempts = 100

export const stepRules: RulesOf<StepEvent> = {
  'step.started': (draft, data) => {
    if (!draft.state.turn) throw new Refusal('no_turn', 'a step runs in a turn, and none is active')
    if (draft.state.step) {
      throw new Refusal('wrong_state', `step ${draft.state.step.messageId} has not ended`)
    }
    if (data.attempt !== 1 && !draft.importing) {
      throw new Refusal('wrong_state', 'a step starts with attempt 1; step.retried starts the next')
    }
    if (data.attempt > mostAttempts) throw attemptsSpent(data.messageId)
    bring(draft, messageName(data.messageId))
    setStep(draft, { messageId: data.messageId, attempt: data.attempt })
  },
  'step.retried': (draft, data) => {
    const step = needStep(draft, data.messageId)
    if (data.attempt !== step.attempt + 1) {
      throw new Refusal(
        'wrong_state',
        `the next attempt of ${data.messageId} is ${step.attempt + 1}`,
      )
    }
    if (data.attempt > mostAttempts) throw attemptsSpent(data.messageId)
    setStep(draft, { messageId: step.messageId, attempt: data.attempt })
  },
  'step.streamed': (draft, data) => {
    const step = needStep(draft, data.messageId)
    setStep(draft, { ...step, finish: data.finish })
  },
  // Rules 12 and 15.
  'step.ended': (draft, data) => {
    const step = needStep(draft, data.messageId)
    if (data.finish === undefined || !knownFinishes.has(data.finish)) {
      throw new Refusal(
        'incomplete_stream',
        'the stream ended without a known finish: end the step with step.failed, kind incomplete',
      )
    }
    const open = Object.keys(step.calls ?? {})
    if (open.length > 0) {
      throw new Refusal('open_tool_calls', `${open.length} tool calls have not settled`, {
        members: { callIds: open },
      })
    }
    const parts = Object.keys(step.parts ?? {})
    if (parts.length > 0) {
      throw new Refusal('wrong_state', `${parts.length} parts have not ended`, {
        members: { partIds: parts },
      })
    }
    draft.state = withMembers(draft.state, { step: undefined })
  },
  'step.failed': (draft, data) => {
    needStep(draft, data.messageId)
    draft.state = withMembers(draft.state, { step: undefined })
  },
}

const attemptsSpent = (messageId: string): Refusal =>
  new Refusal('attempts_spent', `message ${messageId} has had ${mostAttempts} attempts`)

/** The open step of this message; else the reason why there is none. */
export const needStep = (draft: Draft, messageId: string): OpenStep => {
  const step = draft.state.step
  if (step?.messageId === messageId) return step
  if (lookup(draft, messageName(messageId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no message ${messageId}`)
  }
  throw new Refusal('wrong_state', `message ${messageId} is no open step`)
}

export const setStep = (draft: Draft, step: OpenStep): void => {
  draft.state = withMembers(draft.state, { step })
}
