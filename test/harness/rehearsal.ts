import type { NewEvent } from '../../schema/events/envelope.ts'
import { eventTable, type EventData, type EventType } from '../../schema/events/event-table.ts'
import type { Refusal } from '../../schema/errors.ts'
import type { Act, CommandOptions } from '../../services/log/command.ts'
import type { OwnerNow } from '../../services/log/guard.ts'
import { absentSession, type Decidable } from '../../services/log/rules/decidable.ts'
import {
  decide,
  defaultLimits,
  type Decision,
  type Facts,
  type Limits,
} from '../../services/log/rules/decide.ts'
import type { DecidedEvent, NameFact } from '../../services/log/rules/draft.ts'
import type { KnownEvent } from '../../services/log/rules/find-duplicates.ts'
import { testOwners } from './test-owners.ts'

/**
 * A session without a database: what is decided here is kept, with the names and events that the
 * database would keep, so that a test says what was appended before and what happens next.
 */
export type Rehearsal = {
  session: Decidable
  limits: Limits
  readonly log: DecidedEvent[]
  /** The commands that were accepted, to be repeated on a real log. */
  readonly acts: Act[]
  /** Who has registered; those of `testOwners` have, and live. */
  readonly owners: Map<string, OwnerNow>
  /** What is known by name, children and the clock included. */
  readonly names: Map<string, NameFact>
  /** Decides with everything looked up, as the careful way does, and keeps what is accepted. */
  run(act: Act & CommandOptions): Decision
  accept(act: Act & CommandOptions): Extract<Decision, { kind: 'accepted' }>
  refuse(act: Act & CommandOptions): Refusal
  /** The types of what the last accepted command appended. */
  readonly last: readonly DecidedEvent[]
}

export const rehearse = (): Rehearsal => {
  const names = new Map<string, NameFact>()
  const known = new Map<string, KnownEvent>()
  const log: DecidedEvent[] = []
  const acts: Act[] = []
  const owners = new Map<string, OwnerNow>(testOwners.map((ownerId) => [ownerId, aliveOwner]))
  let last: readonly DecidedEvent[] = []

  // A map that has looked everything up.
  const facts = (): Facts => ({
    names: new (class extends Map<string, NameFact | undefined> {
      override has(): boolean {
        return true
      }
      override get(name: string): NameFact | undefined {
        const ownerId = name.startsWith('owner:') ? name.slice(6) : undefined
        return ownerId === undefined ? names.get(name) : ownerFactOf(owners.get(ownerId))
      }
    })(),
    events: known,
  })

  const rehearsal: Rehearsal = {
    session: absentSession,
    limits: defaultLimits,
    log,
    acts,
    owners,
    names,
    get last() {
      return last
    },
    run: (act) => {
      const command = { tenant: 1, sessionId: 'ses_1', ...act }
      const decision = decide(rehearsal.session, command, facts(), rehearsal.limits)
      if (decision.kind !== 'accepted') return decision
      for (const { name, seq } of decision.names) {
        const at = names.get('clock:')?.at ?? 0
        names.set(name, { seq, data: decision.events.find((e) => e.seq === seq)?.data, at })
      }
      for (const event of decision.events) known.set(event.eventId, event)
      log.push(...decision.events)
      acts.push(act)
      last = decision.events
      rehearsal.session = { sid: 1, ...decision.next }
      return decision
    },
    accept: (act) => {
      const decision = rehearsal.run(act)
      if (decision.kind === 'accepted') return decision
      throw decision.kind === 'refused'
        ? decision.refusal
        : new Error(`look-up ${decision.names.join()}`)
    },
    refuse: (act) => {
      const before = rehearsal.session
      const decision = rehearsal.run(act)
      if (decision.kind === 'refused') return decision.refusal
      rehearsal.session = before
      throw new Error('it was accepted')
    },
  }
  return rehearsal
}

export const emptyReport = {
  calls: [],
  requests: [],
  inputs: [],
  parts: [],
  epochs: [],
  compactions: [],
}

export const aliveOwner: OwnerNow = { incarnation: 1, ended: false, lost: false, lapsesAt: null }

const ownerFactOf = (owner: OwnerNow | undefined): NameFact | undefined =>
  owner && { seq: owner.incarnation, data: owner }

let made = 0

/** A new event with an id of its own. */
export const event = <T extends EventType>(
  type: T,
  data: EventData<T>,
  more: Partial<Pick<NewEvent, 'eventId' | 'meta' | 'occurredAt'>> = {},
): NewEvent =>
  ({
    eventId: `evt_${(made += 1)}`,
    type,
    version: eventTable[type].version,
    data,
    meta: {},
    ...more,
  }) as NewEvent

/** A session with a prompt taken up in turn trn_1 of owner own_1, under fence 1. */
export const rehearseTurn = (): Rehearsal => {
  const rehearsal = rehearse()
  rehearsal.accept({ kind: 'create', event: event('session.created', {}) })
  rehearsal.accept({ kind: 'admit', event: prompt('msg_user') })
  rehearsal.accept(startTurn('trn_1', ['msg_user']))
  return rehearsal
}

export const prompt = (messageId: string, delivery: 'queue' | 'steer' = 'queue'): NewEvent =>
  event('input.admitted', { messageId, kind: 'prompt', text: 'do it', delivery })

export const startTurn = (turnId: string, inputs: readonly string[] = []): Act => ({
  kind: 'start-turn',
  turnId,
  ownerId: 'own_1',
  incarnation: 1,
  inputs,
  eventId: `evt_start_${turnId}`,
})

/** An append under the first turn's fence. */
export const inTurn = (...events: NewEvent[]): Act => ({
  kind: 'append',
  turnId: 'trn_1',
  fence: 1,
  events,
})

export const model = { modelId: 'm', providerId: 'p' }
export const tokens = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }

export const stepStarted = (messageId = 'msg_1'): NewEvent =>
  event('step.started', { messageId, attempt: 1, agent: 'build', model })

export const stepEnded = (finish: string, messageId = 'msg_1'): NewEvent =>
  event('step.ended', { messageId, finish, cost: 0, tokens })

export const called = (
  callId: string,
  effect: 'read' | 'idempotent' | 'once' = 'once',
  executedBy: 'host' | 'provider' = 'host',
): NewEvent =>
  event('tool.called', { messageId: 'msg_1', callId, name: 'bash', input: {}, effect, executedBy })

export const dispatched = (callId: string): NewEvent =>
  event('tool.dispatched', { messageId: 'msg_1', callId })

export const settled = (
  callId: string,
  outcome: 'ok' | 'error' | 'denied' | 'cancelled' | 'unknown' = 'ok',
): NewEvent => event('tool.settled', { messageId: 'msg_1', callId, outcome, content: [] })

export const turnEnded = (
  outcome: 'completed' | 'failed' | 'interrupted' = 'completed',
): NewEvent => event('turn.ended', { turnId: 'trn_1', outcome, fence: 1 })
