import type { EventData } from '../../schema/events/event-table.ts'

/** A turn of a session, as lists have it. What was said of it stands in the log, at these seqs. */
export type TurnRow = {
  readonly turnId: string
  /** Who holds it, or held it last. */
  readonly ownerId: string
  readonly incarnation: number | null
  readonly fence: number
  /** Given up by its owner, and not claimed since. */
  readonly released: boolean
  readonly startedSeq: number
  readonly startedAt: string
  /** Of the last start, claim or release. */
  readonly heldSeq: number
  /** The last of them, oldest first. */
  readonly claims: readonly TurnClaim[]
  /** Of the first request to interrupt it, whose reason and author count. */
  readonly interruptSeq: number | null
  /** When the grace that was given last is over. */
  readonly interruptDueAt: string | null
  readonly endedSeq: number | null
  readonly endedAt: string | null
  readonly outcome: EventData<'turn.ended'>['outcome'] | null
}

/** That the turn changed hands. */
export type TurnClaim = {
  readonly ownerId: string
  readonly incarnation?: number
  readonly fromOwnerId: string
  readonly fromFence: number
  readonly fence: number
  readonly seq: number
  readonly at: string
}

/** Claims that a row keeps: a turn that goes from hand to hand must not grow without end. */
export const mostClaims = 32
