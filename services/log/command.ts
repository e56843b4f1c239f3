import type { NewEvent } from '../../schema/events/envelope.ts'

/** Which session; `tenant` is the number of the tenant's row. */
export type Target = { readonly tenant: number; readonly sessionId: string }

/** Conditions and bookkeeping that any command may carry. */
export type CommandOptions = {
  /** The head that the caller has seen; another head is `expected_seq` (409). */
  readonly expectedSeq?: number
  /** The same from `If-Match`; another head is `precondition_failed` (412). */
  readonly ifMatch?: number
  /** From `Idempotency-Key`: written with the events, answered again on a repetition. */
  readonly receipt?: {
    readonly commandId: string
    readonly route: string
    readonly requestHash: string
  }
  /** What open parts have said on the live channel, by `message/attempt/part/kind`: a part that the store ends keeps it. */
  readonly said?: ReadonlyMap<string, string>
}

export type Act =
  | { readonly kind: 'create'; readonly event: NewEvent }
  | {
      readonly kind: 'append'
      readonly events: readonly NewEvent[]
      readonly turnId?: string
      readonly fence?: number
    }
  | { readonly kind: 'admit'; readonly event: NewEvent; readonly onlyIfIdle?: boolean }
  | {
      readonly kind: 'change-input'
      readonly messageId: string
      readonly delivery: 'steer' | 'queue'
      readonly eventId: string
    }
  | { readonly kind: 'cancel-input'; readonly messageId: string; readonly eventId: string }
  | {
      readonly kind: 'start-turn'
      readonly turnId: string
      readonly ownerId: string
      readonly incarnation?: number
      readonly inputs: readonly string[]
      readonly resumes?: readonly string[]
      readonly eventId: string
    }
  | { readonly kind: 'delete'; readonly eventId: string }
  | { readonly kind: 'restore'; readonly eventId: string }
  | {
      readonly kind: 'import'
      readonly origin: {
        readonly system: string
        readonly sessionId: string
        readonly live?: boolean
      }
      readonly events: readonly NewEvent[]
    }

export type Command = Target & CommandOptions & Act

/** What a command did. `headSeq` is the session's head after it. */
export type Outcome = {
  readonly sessionId: string
  readonly created: boolean
  readonly headSeq: number
  readonly firstSeq: number
  readonly lastSeq: number
  /** In the order of the request; what the store added itself is `derived`. */
  readonly events: readonly OutcomeEvent[]
  readonly replayed?: true
  readonly turn?: { readonly turnId: string; readonly fence: number }
  readonly added: number
  readonly duplicates: number
}

export type OutcomeEvent = {
  readonly eventId: string
  readonly seq: number
  readonly duplicate?: true
  readonly derived?: true
}
