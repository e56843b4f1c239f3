import type { Static } from 'typebox'
import type { NewEvent } from '../../schema/events/envelope.ts'
import type {
  Answers,
  By as BySchema,
  Decision,
  ElicitationAction,
} from '../../schema/events/shapes.ts'
import type { TakeOverReport } from '../../schema/events/turn.ts'

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

/** What a person says to a request, by its kind. */
export type Answer =
  | { readonly answers: Static<typeof Answers> }
  | { readonly decision: Static<typeof Decision>; readonly message?: string }
  | { readonly action: Static<typeof ElicitationAction>; readonly content?: unknown }

export type By = Static<typeof BySchema>

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
      readonly incarnation: number
      readonly inputs: readonly string[]
      readonly resumes?: readonly string[]
      readonly eventId: string
    }
  | {
      readonly kind: 'claim-turn'
      readonly turnId: string
      readonly ownerId: string
      readonly incarnation: number
      readonly fromFence: number
      readonly eventId: string
    }
  | {
      readonly kind: 'release-turn'
      readonly turnId: string
      readonly fence: number
      readonly eventId: string
    }
  | {
      readonly kind: 'interrupt-turn'
      /** Left out: the active one. */
      readonly turnId?: string
      readonly reason: string
      readonly by: By
      /** After which the store ends the turn itself (ms); 0: at once. */
      readonly graceMs?: number
      readonly eventId: string
    }
  /** The store's: ends a turn whose interruption is due, or whose owner is gone. */
  | { readonly kind: 'end-interrupted'; readonly turnId: string; readonly eventId: string }
  /** The store's: fails the turn of an owner that has exited. */
  | {
      readonly kind: 'fail-turn'
      readonly turnId: string
      readonly ownerId: string
      readonly incarnation: number
      readonly reason: string
      readonly eventId: string
    }
  | {
      readonly kind: 'answer-request'
      readonly requestId: string
      /** Of the answer's row. */
      readonly messageId: string
      readonly answer: Answer
      readonly by: By
      readonly eventId: string
    }
  | {
      readonly kind: 'close-request'
      readonly requestId: string
      readonly reason: 'rejected' | 'dismissed' | 'replied' | 'cancelled'
      /** The input that was sent instead (`replied`). */
      readonly messageId?: string
      readonly eventId: string
    }
  /** The store's: closes what has expired by the database's clock. */
  | { readonly kind: 'expire-requests'; readonly eventId: string }
  | { readonly kind: 'revoke-permission'; readonly requestId: string; readonly eventId: string }
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
  readonly turn?: {
    readonly turnId: string
    readonly fence: number
    readonly report?: TakeOverReport
  }
  /** The row of the answer that counts. */
  readonly answer?: { readonly messageId: string; readonly seq: number }
  readonly added: number
  readonly duplicates: number
}

export type OutcomeEvent = {
  readonly eventId: string
  readonly seq: number
  readonly duplicate?: true
  readonly derived?: true
}
