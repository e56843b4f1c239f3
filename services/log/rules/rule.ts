import type { EventData, EventType } from '../../../schema/events/event-table.ts'
import type { Draft } from './draft.ts'

/**
 * Checks one event against the draft's state, moves the state, and brings names. Throws Refusal.
 * `derived`: the store adds the event itself.
 */
export type Rule<T extends EventType> = (draft: Draft, data: EventData<T>, derived: boolean) => void

/** The rules of one family of events: a rule for every type, so that none is forgotten. */
export type RulesOf<T extends EventType> = { readonly [K in T]: Rule<K> }

/** An event that changes nothing that a later append would be decided on. */
export const anyTime = (): void => {}
