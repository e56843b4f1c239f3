import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import { knownFinishes } from '../../../schema/events/step.ts'
import { withMembers, type OpenStep } from '../session-state.ts'
import { bring, lookup, type Draft } from './draft.ts'
import { messageName } from './names.ts'
import type { RulesOf } from './rule.ts'

type StepEvent = Extract<EventType, `step.${string}`>

/** A bound on the attempts of one step, so that all that a message ever had can be looked up. */
export const mostAttempts = 100

export const stepRules: RulesOf<StepEvent> = {
  'step.started': (draft, data) => {
    const { turn } = draft.state
    if (!turn) throw new Refusal('no_turn', 'a step runs in a turn, and none is active')
    if (draft.state.step) {
      throw new Refusal('wrong_state', `step ${draft.state.step.messageId} has not ended`)
    }
    if (data.attempt !== 1 && !draft.importing) {
      throw new Refusal('wrong_state', 'a step starts with attempt 1; step.retried starts the next')
    }
    if (data.attempt > mostAttempts) throw tooManyAttempts(data.messageId)
    if (!draft.importing && (turn.failures ?? 0) >= draft.mostFailures) throw attemptsSpent(draft)
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
    if (data.attempt > mostAttempts) throw tooManyAttempts(data.messageId)
    if (!draft.importing) {
      if (step.veto) throw replayVetoed(step.messageId, step.veto)
      // The attempt that fails here is counted before the next begins.
      if ((draft.state.turn?.failures ?? 0) + 1 >= draft.mostFailures) throw attemptsSpent(draft)
    }
    countFailure(draft)
    setStep(draft, { messageId: step.messageId, attempt: data.attempt })
  },
  // Rule 7: the stream of a step that was taken over is gone; its finish is what it was.
  'step.streamed': (draft, data) => {
    const step = needTakingStep(draft, data.messageId)
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
    const finish = step.finish ?? 'tool-calls'
    if (step.inherited && data.finish !== finish) {
      throw new Refusal('wrong_state', `a step that was taken over ends with ${finish}`, {
        members: { finish },
      })
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
    draft.state = withMembers(draft.state, { step: undefined, futile: undefined })
    forgetFailures(draft)
  },
  'step.failed': (draft, data) => {
    needStep(draft, data.messageId)
    countFailure(draft)
    draft.state = withMembers(draft.state, { step: undefined })
  },
}

const tooManyAttempts = (messageId: string): Refusal =>
  new Refusal('attempts_spent', `message ${messageId} has had ${mostAttempts} attempts`)

/** Rule 14. */
const attemptsSpent = (draft: Draft): Refusal =>
  new Refusal('attempts_spent', `${draft.mostFailures} attempts in a row have failed`, {
    members: { turnId: draft.state.turn?.turnId, attempts: draft.mostFailures },
  })

/** Rule 13. */
const replayVetoed = (messageId: string, cause: NonNullable<OpenStep['veto']>): Refusal =>
  new Refusal('replay_vetoed', `this attempt of ${messageId} cannot be taken back`, {
    members: { messageId, ...cause },
  })

const countFailure = (draft: Draft): void => {
  const { turn } = draft.state
  if (!turn) return
  draft.state = withMembers(draft.state, { turn: { ...turn, failures: (turn.failures ?? 0) + 1 } })
}

/** Rule 14: what got somewhere ends the row of failures. */
export const forgetFailures = (draft: Draft): void => {
  if (!draft.state.turn?.failures) return
  const { failures: _, ...turn } = draft.state.turn
  draft.state = withMembers(draft.state, { turn })
}

/** The open step of this message; else the reason why there is none. */
export const needStep = (draft: Draft, messageId: string): OpenStep => {
  const step = draft.state.step
  if (step?.messageId === messageId) return step
  if (lookup(draft, messageName(messageId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no message ${messageId}`)
  }
  throw new Refusal('wrong_state', `message ${messageId} is no open step`)
}

/** The open step, if it still takes what its stream says: one that was taken over does not (rule 7). */
export const needTakingStep = (draft: Draft, messageId: string): OpenStep => {
  const step = needStep(draft, messageId)
  if (!step.inherited) return step
  throw new Refusal('wrong_state', `step ${messageId} was taken over: it takes nothing new`)
}

export const setStep = (draft: Draft, step: OpenStep): void => {
  draft.state = withMembers(draft.state, { step })
}
