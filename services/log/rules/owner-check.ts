import { Refusal } from '../../../schema/errors.ts'
import { eventTable, type EventData } from '../../../schema/events/event-table.ts'
import type { OpenTurn } from '../session-state.ts'
import { lookup, type Draft } from './draft.ts'
import { turnEndName, turnName } from './names.ts'
import type { IncomingEvent } from './apply-event.ts'
import { turnSettled } from './turn-rules.ts'

/** Whether only the owner of a turn (or the store) writes events of this type. */
export const isOwnerEvent = (type: string): boolean => {
  const entry = Object.hasOwn(eventTable, type)
    ? eventTable[type as keyof typeof eventTable]
    : undefined
  const writers: readonly string[] = entry?.writers ?? []
  return writers.includes('owner') && !writers.includes('anyone')
}

type Held = { readonly turnId?: string; readonly fence?: number }

/**
 * Rule 5, in its order: none given while a turn is active, `fence_required`; none given and none
 * active, or a turn that never started, `no_turn`; a fence below the one that the turn was last
 * held under, `fenced`; a turn that has ended, `turn_settled`.
 */
export const checkOwner = (draft: Draft, held: Held, events: readonly IncomingEvent[]): void => {
  const turn = draft.state.turn
  if (held.turnId === undefined || held.fence === undefined) {
    if (!events.some((event) => isOwnerEvent(event.type))) return
    if (turn) {
      throw new Refusal('fence_required', `turn ${turn.turnId} is active`, {
        members: { turnId: turn.turnId },
      })
    }
    throw new Refusal('no_turn', 'no turn is active')
  }
  if (turn?.turnId === held.turnId) {
    checkHeld(turn, held.fence)
    return
  }
  if (lookup(draft, turnName(held.turnId)) === undefined) {
    throw new Refusal('no_turn', `turn ${held.turnId} was never started in this session`)
  }
  const end = lookup(draft, turnEndName(held.turnId))?.data as EventData<'turn.ended'> | undefined
  if (end?.fence !== undefined) checkEndFence(held.turnId, held.fence, end)
  throw turnSettled(draft, held.turnId)
}

/** Whether the turn is held under this fence: one that was released is held by nobody. */
export const checkHeld = (turn: OpenTurn, given: number): void => {
  const { turnId, fence, released } = turn
  checkFence(turn, given)
  if (!released) return
  throw new Refusal('wrong_state', `turn ${turnId} was released: it is claimed before it goes on`, {
    members: { turnId, fence },
  })
}

/** Whether that is the turn's fence; a lower one is refused with who holds the turn, if anybody does. */
export const checkFence = ({ turnId, fence, ownerId, released }: OpenTurn, given: number): void => {
  const members = { turnId, fence, ...(released ? { released } : { ownerId }) }
  const now = released ? 'was released' : `is held by ${ownerId}`
  if (given < fence)
    throw fenced(`turn ${turnId} ${now}, under fence ${fence}, not ${given}`, members)
  if (given > fence) throw neverGiven(turnId, fence, given)
}

/** The same of a turn that has ended, under the fence that it ended with. */
const checkEndFence = (
  turnId: string,
  given: number,
  { fence, outcome }: EventData<'turn.ended'>,
): void => {
  const members = { turnId, fence, outcome }
  if (given < fence) {
    throw fenced(
      `turn ${turnId} has ended (${outcome}), under fence ${fence}, not ${given}`,
      members,
    )
  }
  if (given > fence) throw neverGiven(turnId, fence, given)
}

const fenced = (detail: string, members: Readonly<Record<string, unknown>>): Refusal =>
  new Refusal('fenced', detail, { members })

const neverGiven = (turnId: string, fence: number, given: number): Refusal =>
  new Refusal('wrong_state', `fence ${given} of turn ${turnId} was never given out`, {
    members: { turnId, fence },
  })
