import { Refusal } from '../../../schema/errors.ts'
import type { Command, Outcome, OutcomeEvent } from '../command.ts'
import type { Guard } from '../guard.ts'
import type { SessionState } from '../session-state.ts'
import { applyCommand } from './apply-command.ts'
import { checkRoom } from './check-room.ts'
import type { Decidable, Extra } from './decidable.ts'
import {
  LookupNeeded,
  type BroughtName,
  type DecidedEvent,
  type Draft,
  type NameFact,
} from './draft.ts'
import { findDuplicates, type KnownEvent } from './find-duplicates.ts'

/** What was read beside the state; absent on the fast path, where nothing is refused for good. */
export type Facts = {
  readonly names: ReadonlyMap<string, NameFact | undefined>
  readonly events: ReadonlyMap<string, KnownEvent>
}

export type Limits = {
  /** Failed attempts and steps in a row that a turn may have (rule 14). */
  readonly mostFailures: number
}

export const defaultLimits: Limits = { mostFailures: 5 }

export type Decision =
  | {
      readonly kind: 'accepted'
      readonly events: readonly DecidedEvent[]
      readonly names: readonly BroughtName[]
      readonly guards: readonly Guard[]
      readonly next: { readonly head: number; readonly state: SessionState }
      readonly outcome: Outcome
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'lookup'; readonly names: readonly string[] }

/**
 * Accepts or refuses one command. Pure: the same session, command and facts give the same decision.
 * The order of checks: event ids, deleted, fence and expected seq, rules (authorisation and receipt
 * come before, outside).
 */
export const decide = (
  session: Decidable,
  command: Command,
  facts?: Facts,
  limits: Limits = defaultLimits,
): Decision => {
  const draft: Draft = {
    tenant: command.tenant,
    sessionId: command.sessionId,
    importing: command.kind === 'import',
    said: command.said,
    known: facts?.names,
    state: session.state,
    head: session.head,
    events: [],
    names: [],
    broughtHere: new Set(),
    guards: [],
    mostFailures: limits.mostFailures,
  }
  try {
    const duplicates = findDuplicates(command, facts?.events)
    const extra = applyCommand(draft, session, command, duplicates)
    checkRoom(command.kind, session.state, draft.state)
    return {
      kind: 'accepted',
      events: draft.events,
      names: draft.names,
      guards: draft.guards,
      next: { head: draft.head, state: draft.state },
      outcome: outcomeOf(session, command, draft, duplicates, extra),
    }
  } catch (error) {
    if (error instanceof LookupNeeded) return { kind: 'lookup', names: error.wanted }
    if (error instanceof Refusal) return { kind: 'refused', refusal: error }
    throw error
  }
}

const outcomeOf = (
  session: Decidable,
  command: Command,
  draft: Draft,
  duplicates: ReadonlyMap<string, number>,
  extra: Extra,
): Outcome => {
  const known: OutcomeEvent[] = [...duplicates].map(([eventId, seq]) => ({
    eventId,
    seq,
    duplicate: true,
  }))
  const added: OutcomeEvent[] = draft.events.map(({ eventId, seq, derived }) => ({
    eventId,
    seq,
    ...(derived && { derived }),
  }))
  const all = [...known, ...added]
  const events = known.length > 0 && added.length > 0 ? inOrderOfRequest(command, all) : all
  const seqs = events.map((event) => event.seq)
  return {
    sessionId: command.sessionId,
    created: session.head === 0,
    headSeq: draft.head,
    firstSeq: seqs.length > 0 ? Math.min(...seqs) : draft.head,
    lastSeq: seqs.length > 0 ? Math.max(...seqs) : draft.head,
    events,
    ...(extra.turn && { turn: extra.turn }),
    ...(extra.answer && { answer: extra.answer }),
    added: added.length,
    duplicates: known.length + (extra.skipped ?? 0),
  }
}

/** Duplicates and new events as the request named them; what the store added stays before its cause. */
const inOrderOfRequest = (command: Command, events: readonly OutcomeEvent[]): OutcomeEvent[] => {
  const asked: readonly { eventId: string }[] = 'events' in command ? command.events : []
  const rank = new Map(asked.map((event, index) => [event.eventId, index]))
  const ranked: { event: OutcomeEvent; at: number }[] = []
  let next = asked.length
  for (const event of events.toReversed()) {
    next = rank.get(event.eventId) ?? next
    ranked.push({ event, at: next })
  }
  return ranked
    .toReversed()
    .toSorted((a, b) => a.at - b.at)
    .map(({ event }) => event)
}
