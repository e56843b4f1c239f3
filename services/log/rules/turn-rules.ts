import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import { entryOf, withMembers } from '../session-state.ts'
import { bring, lookup, messageName, note, turnEndName, turnName, type Draft } from './draft.ts'
import type { RulesOf } from './rule.ts'

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
    bring(draft, turnName(data.turnId))
    draft.state = withMembers(draft.state, {
      fence: Math.max(draft.state.fence, data.fence),
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
    const turn = needActive(draft, data.turnId)
    draft.state = withMembers(draft.state, {
      fence: Math.max(draft.state.fence, data.fence),
      turn: {
        ...turn,
        ownerId: data.ownerId,
        ...(data.incarnation !== undefined && { incarnation: data.incarnation }),
        fence: data.fence,
      },
    })
  },
  'turn.released': (draft, data) => {
    const turn = needActive(draft, data.turnId)
    draft.state = withMembers(draft.state, {
      fence: Math.max(draft.state.fence, data.fence),
      turn: { ...turn, fence: data.fence },
    })
  },
  'turn.interrupt.requested': (draft, data) => void needActive(draft, data.turnId),
  // Rule 6: ends once. What it leaves open was closed before it (closings.ts, rule 7).
  'turn.ended': (draft, data) => {
    const turn = needActive(draft, data.turnId)
    if (!draft.importing && data.fence !== turn.fence) {
      throw new Refusal('wrong_state', `turn ${data.turnId} is held under fence ${turn.fence}`, {
        members: { fence: turn.fence },
      })
    }
    note(draft, turnEndName(data.turnId))
    draft.state = withMembers(draft.state, { turn: undefined })
  },
}

export const turnActive = (turnId: string, ownerId: string): Refusal =>
  new Refusal('turn_active', `turn ${turnId} of owner ${ownerId} has not ended`, {
    members: { turnId, ownerId },
  })

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
