import { Refusal } from '../../../schema/errors.ts'
import type { EventData } from '../../../schema/events/event-table.ts'
import type { Command } from '../command.ts'
import { followsSource, type OpenTurn } from '../session-state.ts'
import { applyClosings, applyEvent, storeEvent } from './apply-event.ts'
import type { Extra } from './decidable.ts'
import { derivedEventId, lookup, type Draft } from './draft.ts'
import { graceName, turnName } from './names.ts'
import { checkFence, checkHeld } from './owner-check.ts'
import { childRuns, clockNow, isGone, needCurrent } from './owner-facts.ts'
import { takeOver } from './take-over.ts'
import { turnActive, turnSettled, withInterruption } from './turn-rules.ts'

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>

/** The turn under the next fence, with the inputs and answers that it takes up (rules 4, 5, 8). */
export const startTurn = (draft: Draft, command: Of<'start-turn'>): Extra => {
  const active = draft.state.turn
  if (active) throw turnActive(active.turnId, active.ownerId)
  needCurrent(draft, command)
  const { turnId, ownerId, incarnation, inputs, resumes, eventId } = command
  const fence = draft.state.fence + 1
  const started = {
    turnId,
    ownerId,
    incarnation,
    fence,
    inputs: [...inputs],
    ...(resumes !== undefined && { resumes: [...resumes] }),
  }
  applyEvent(draft, storeEvent(eventId, 'turn.started', started))
  for (const messageId of inputs) {
    const deliveredId = derivedEventId(eventId, `delivered ${messageId}`)
    applyEvent(draft, storeEvent(deliveredId, 'input.delivered', { messageId, turnId }), true)
  }
  return { turn: { turnId, fence } }
}

/** Takes a turn over from an owner that is gone or has released it (rules 7, 11, 18). */
export const claimTurn = (draft: Draft, command: Of<'claim-turn'>): Extra => {
  const { turnId, ownerId, incarnation, fromFence, eventId } = command
  const turn = needTurn(draft, turnId)
  checkFence(turn, fromFence)
  needCurrent(draft, command)
  const { gone, lapsesAt } = isGone(draft, turn)
  if (!gone) {
    throw new Refusal('owner_alive', `owner ${turn.ownerId} of turn ${turnId} is alive`, {
      members: { turnId, ownerId: turn.ownerId, ...(lapsesAt !== undefined && { lapsesAt }) },
    })
  }
  const { report, closings } = takeOver(
    draft.state,
    (sessionId) => childRuns(draft, sessionId),
    draft.said,
  )
  applyClosings(draft, closings, { eventId, meta: {} })
  const fence = draft.state.fence + 1
  applyEvent(
    draft,
    storeEvent(eventId, 'turn.claimed', {
      turnId,
      ownerId,
      incarnation,
      fromOwnerId: turn.ownerId,
      fromFence,
      fence,
      report,
    }),
  )
  return { turn: { turnId, fence, report } }
}

/** Gives a turn up: its owner's events are fenced, and anyone may claim it. */
export const releaseTurn = (draft: Draft, command: Of<'release-turn'>): Extra => {
  const { turnId, fence: held, eventId } = command
  checkHeld(needTurn(draft, turnId), held)
  const fence = draft.state.fence + 1
  applyEvent(draft, storeEvent(eventId, 'turn.released', { turnId, fence }))
  return { turn: { turnId, fence } }
}

/**
 * Rule 9. The first reason and author are kept. Where nobody is there to end the turn, or no grace is
 * given, the store ends it at once.
 */
export const interruptTurn = (draft: Draft, command: Of<'interrupt-turn'>): Extra => {
  const { reason, by, graceMs, eventId } = command
  const turn = command.turnId === undefined ? needAnyTurn(draft) : needTurn(draft, command.turnId)
  const { turnId } = turn
  if (!turn.interrupt || isSooner(draft, turn, graceMs)) {
    const requested = { turnId, reason, by, ...(graceMs !== undefined && { graceMs }) }
    applyEvent(draft, storeEvent(eventId, 'turn.interrupt.requested', requested))
  }
  if (graceMs === 0 || isGone(draft, turn).gone) {
    endByStore(draft, derivedEventId(eventId, 'end'), {})
  }
  return { turn: { turnId, fence: draft.state.fence } }
}

/** Ends a turn whose interruption was asked for, if it is due or its owner is gone. */
export const endInterrupted = (draft: Draft, command: Of<'end-interrupted'>): Extra => {
  const { turnId, eventId } = command
  const turn = needTurn(draft, turnId)
  checkNotSource(draft, turnId)
  if (!turn.interrupt) throw new Refusal('wrong_state', `nobody asked to interrupt turn ${turnId}`)
  if (!isDue(draft, turn) && !isGone(draft, turn).gone) {
    throw new Refusal('wrong_state', `the interruption of turn ${turnId} is not due`)
  }
  endByStore(draft, eventId, {})
  return {}
}

/** Fails the turn of an owner that has exited. */
export const failTurn = (draft: Draft, command: Of<'fail-turn'>): Extra => {
  const { turnId, ownerId, incarnation, reason, eventId } = command
  const turn = needTurn(draft, turnId)
  checkNotSource(draft, turnId)
  const isTheirs = turn.ownerId === ownerId && (turn.incarnation ?? 0) <= incarnation
  if (turn.released || !isTheirs || !isGone(draft, turn).gone) {
    throw new Refusal('wrong_state', `turn ${turnId} is not held by what exited of ${ownerId}`)
  }
  endByStore(draft, eventId, {
    outcome: 'failed',
    stopReason: 'owner_exited',
    error: { kind: 'aborted', message: reason },
  })
  return {}
}

/** What a sweep must leave alone: a source that is copied ends its turn itself. */
const checkNotSource = ({ state, head }: Draft, turnId: string): void => {
  if (followsSource(state, head)) {
    throw new Refusal('wrong_state', `turn ${turnId} is that of the session's source`)
  }
}

type EndOf = Partial<Pick<EventData<'turn.ended'>, 'outcome' | 'stopReason' | 'error'>>

/** Raises the fence and ends the turn; one that was asked to stop ends as interrupted. */
const endByStore = (draft: Draft, eventId: string, end: EndOf): void => {
  const { turnId } = draft.state.turn!
  const given = { outcome: 'interrupted' as const, ...end, turnId, fence: draft.state.fence + 1 }
  applyEvent(draft, storeEvent(eventId, 'turn.ended', withInterruption(draft, given)))
}

const isDue = (draft: Draft, { turnId, interrupt }: OpenTurn): boolean =>
  interrupt?.graceMs !== undefined && clockNow(draft) >= askedAt(draft, turnId) + interrupt.graceMs

/** Whether a grace that begins now is over before the one that was given. */
const isSooner = (
  draft: Draft,
  { turnId, interrupt }: OpenTurn,
  graceMs: number | undefined,
): boolean => {
  if (graceMs === undefined) return false
  const given = interrupt?.graceMs
  if (given === undefined) return true
  return graceMs < given && clockNow(draft) + graceMs < askedAt(draft, turnId) + given
}

/** When the request was recorded whose grace counts (ms, by the database's clock). */
const askedAt = (draft: Draft, turnId: string): number => lookup(draft, graceName(turnId))!.at!

const needAnyTurn = ({ state: { turn } }: Draft): OpenTurn => {
  if (!turn) throw new Refusal('no_turn', 'no turn is active')
  return turn
}

/** The active turn of that id; else why it is not. */
const needTurn = (draft: Draft, turnId: string): OpenTurn => {
  const { turn } = draft.state
  if (turn?.turnId === turnId) return turn
  if (lookup(draft, turnName(turnId)) === undefined) {
    throw new Refusal('turn_not_found', `the session has no turn ${turnId}`)
  }
  throw turnSettled(draft, turnId)
}
