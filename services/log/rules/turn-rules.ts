import { Refusal } from '../../../schema/errors.ts'
import type { EventData, EventType } from '../../../schema/events/event-table.ts'
import { entryOf, withMembers, withoutEntry } from '../session-state.ts'
import { bring, lookup, note, type Draft } from './draft.ts'
import {
  graceName,
  heldName,
  interruptName,
  messageName,
  requestName,
  turnEndName,
  turnName,
} from './names.ts'
import type { RulesOf } from './rule.ts'
import { inheritStep } from './take-over.ts'

type TurnEvent = Extract<EventType, `turn.${string}`>

export const turnRules: RulesOf<TurnEvent> = {
  // Rule 4: one turn at a time. Rule 5: the fence never goes back.
  'turn.started': (draft, data) => {
    const active = draft.state.turn
    if (active) throw turnActive(active.turnId, active.ownerId)
    for (const messageId of data.inputs) {
      if (entryOf(draft.state.inputs, messageId)) continue
      if (lookup(draft, messageName(messageId)) === undefined) {
        throw new Refusal('dangling_reference', `there is no input ${messageId}`)
      }
    }
    for (const requestId of data.resumes ?? []) takeUpAnswer(draft, requestId)
    bring(draft, turnName(data.turnId))
    draft.state = withMembers(draft.state, {
      fence: grownFence(draft, data.fence),
      turn: {
        turnId: data.turnId,
        ownerId: data.ownerId,
        ...(data.incarnation !== undefined && { incarnation: data.incarnation }),
        fence: data.fence,
        startedSeq: draft.head + 1,
      },
    })
  },
  'turn.claimed': (draft, data) => {
    const { incarnation: _, released: _released, ...turn } = needActive(draft, data.turnId)
    note(draft, heldName(data.turnId))
    const { step } = draft.state
    draft.state = withMembers(draft.state, {
      fence: grownFence(draft, data.fence),
      turn: {
        ...turn,
        ownerId: data.ownerId,
        ...(data.incarnation !== undefined && { incarnation: data.incarnation }),
        fence: data.fence,
      },
      ...(step && { step: inheritStep(step, data.report) }),
    })
  },
  'turn.released': (draft, data) => {
    const turn = needActive(draft, data.turnId)
    note(draft, heldName(data.turnId))
    draft.state = withMembers(draft.state, {
      fence: grownFence(draft, data.fence),
      turn: { ...turn, fence: data.fence, released: true },
    })
  },
  // Rule 9: the first reason and author are kept; a later request can only hurry.
  'turn.interrupt.requested': (draft, data) => {
    const turn = needActive(draft, data.turnId)
    const { graceMs } = data
    if (!turn.interrupt) note(draft, interruptName(data.turnId))
    if (graceMs !== undefined) note(draft, graceName(data.turnId))
    const seq = turn.interrupt?.seq ?? draft.head + 1
    const interrupt = { ...turn.interrupt, seq, ...(graceMs !== undefined && { graceMs }) }
    draft.state = withMembers(draft.state, { turn: { ...turn, interrupt } })
  },
  // Rule 6: ends once. What it leaves open was closed before it (closings.ts, rule 7).
  'turn.ended': (draft, data) => {
    needActive(draft, data.turnId)
    note(draft, turnEndName(data.turnId))
    draft.state = withMembers(draft.state, {
      fence: grownFence(draft, data.fence),
      turn: undefined,
    })
  },
}

/** Rule 9: the end carries the interruption that was asked for, whatever error came on the way. */
export const withInterruption = (
  draft: Draft,
  ended: EventData<'turn.ended'>,
): EventData<'turn.ended'> => {
  if (!draft.state.turn?.interrupt) return ended
  const { reason, by } = lookup(draft, interruptName(ended.turnId))!
    .data as EventData<'turn.interrupt.requested'>
  const outcome = ended.outcome === 'failed' ? 'interrupted' : ended.outcome
  return { ...ended, outcome, interrupt: { reason, by } }
}

export const turnActive = (turnId: string, ownerId: string): Refusal =>
  new Refusal('turn_active', `turn ${turnId} of owner ${ownerId} has not ended`, {
    members: { turnId, ownerId },
  })

/** The store's own fences grow by one; only an importer can say a large one. */
const mostImportedFence = 2 ** 31

/** Rule 5: it never goes back, and can always grow: one that could not would fence nobody. */
const grownFence = ({ importing, state }: Draft, fence: number): number => {
  if (importing && fence > mostImportedFence) {
    throw new Refusal('invalid_body', 'the fence of an import is too large', {
      faults: [{ pointer: '/fence', detail: `must be at most ${mostImportedFence}` }],
    })
  }
  return Math.max(state.fence, fence)
}

/** An answer that waits for a turn; else why there is none. */
const takeUpAnswer = (draft: Draft, requestId: string): void => {
  if (!entryOf(draft.state.answers, requestId)) {
    if (lookup(draft, requestName(requestId)) === undefined) {
      throw new Refusal('dangling_reference', `there is no request ${requestId}`)
    }
    throw new Refusal('wrong_state', `no answer to request ${requestId} waits for a turn`)
  }
  draft.state = withMembers(draft.state, { answers: withoutEntry(draft.state.answers, requestId) })
}

const needActive = (draft: Draft, turnId: string) => {
  const turn = draft.state.turn
  if (turn?.turnId === turnId) return turn
  if (lookup(draft, turnName(turnId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no turn ${turnId}`)
  }
  throw turnSettled(draft, turnId)
}

/** The refusal for a turn that has ended, with the stored outcome (rule 6). */
export const turnSettled = (draft: Draft, turnId: string): Refusal => {
  const end = lookup(draft, turnEndName(turnId))?.data as
    | { outcome?: string; stopReason?: string; error?: { kind: string } }
    | undefined
  return new Refusal('turn_settled', `turn ${turnId} has ended`, {
    members: {
      turnId,
      ...(end?.outcome !== undefined && { outcome: end.outcome }),
      ...(end?.stopReason !== undefined && { stopReason: end.stopReason }),
      ...(end?.error !== undefined && { errorKind: end.error.kind }),
    },
  })
}
