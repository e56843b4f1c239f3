import type { EventMeta } from '../../../schema/events/envelope.ts'
import { Refusal } from '../../../schema/errors.ts'
import { deriveId } from '../new-id.ts'
import type { Guard } from '../guard.ts'
import type { SessionState } from '../session-state.ts'

/**
 * What `stemma.name` says of a name: the seq that brought it; of those in `names.ts` that say so also
 * the event's data, and when it was recorded (ms).
 */
export type NameFact = { readonly seq: number; readonly data?: unknown; readonly at?: number }

/** An event that has been decided: it will stand in the log at `seq`. */
export type DecidedEvent = {
  readonly seq: number
  readonly eventId: string
  readonly type: string
  readonly version: number
  readonly occurredAt?: string
  readonly data: unknown
  readonly meta: EventMeta
  readonly derived?: true
}

export type BroughtName = {
  readonly name: string
  readonly seq: number
  readonly replace?: true
}

/** Thrown where a rule needs to know names that were not looked up: they are, and all is decided again. */
export class LookupNeeded extends Error {
  override readonly name = 'LookupNeeded'
  readonly wanted: readonly string[]

  constructor(wanted: readonly string[]) {
    super(`a look-up of ${wanted.join(', ')} is needed`)
    this.wanted = wanted
  }
}

/**
 * What is being decided for one command: a state that moves with each event. A draft lives only
 * inside one call of `decide`; nothing of it is seen outside unless the whole command is accepted.
 */
export type Draft = {
  readonly tenant: number
  readonly sessionId: string
  readonly importing: boolean
  readonly said: ReadonlyMap<string, string> | undefined
  /** undefined: nothing was looked up yet, so any question throws `LookupNeeded`. */
  readonly known: ReadonlyMap<string, NameFact | undefined> | undefined
  /** Failed attempts and steps in a row that a turn may have (rule 14). */
  readonly mostFailures: number
  state: SessionState
  head: number
  readonly events: DecidedEvent[]
  readonly names: BroughtName[]
  readonly broughtHere: Set<string>
  readonly guards: Guard[]
}

/** What is known of `name`, brought by this command or before. */
export const lookup = (draft: Draft, name: string): NameFact | undefined => {
  if (draft.broughtHere.has(name)) {
    const brought = draft.names.findLast((b) => b.name === name)
    const event = draft.events.find((e) => e.seq === brought?.seq)
    return brought && { seq: brought.seq, data: event?.data }
  }
  if (draft.known === undefined || !draft.known.has(name)) throw new LookupNeeded([name])
  return draft.known.get(name)
}

/** Whether any of the names is known; they are looked up together. */
export const lookupAny = (draft: Draft, names: readonly string[]): boolean => {
  if (names.some((name) => draft.broughtHere.has(name))) return true
  const missing = names.filter((name) => !draft.known?.has(name))
  if (missing.length > 0) throw new LookupNeeded(missing)
  return names.some((name) => draft.known?.get(name) !== undefined)
}

/**
 * Brings a name into being with the event that is being applied. The database refuses a name that
 * is there already; once names have been looked up the refusal is made here, with its reason.
 */
export const bring = (draft: Draft, name: string): void => {
  const taken = draft.broughtHere.has(name) || (draft.known?.get(name) ?? undefined) !== undefined
  if (taken) {
    throw new Refusal('duplicate_id', `${describeName(name)} is there already`)
  }
  draft.names.push({ name, seq: draft.head + 1 })
  draft.broughtHere.add(name)
}

/** Notes a name whose latest event counts, such as the end of a turn that an import replaces. */
export const note = (draft: Draft, name: string): void => {
  // A statement updates a row once: of two notes in one append the later counts.
  const earlier = draft.names.findIndex((brought) => brought.name === name && brought.replace)
  if (earlier >= 0) draft.names.splice(earlier, 1)
  draft.names.push({ name, seq: draft.head + 1, replace: true })
  draft.broughtHere.add(name)
}

/** The id of an event that the store adds itself, from the event that caused it. */
export const derivedEventId = (causeId: string, purpose: string): string =>
  deriveId('evt', causeId, purpose)

const describeName = (name: string): string => {
  const at = name.indexOf(':')
  return `${name.slice(0, at)} ${name.slice(at + 1)}`
}
