import type { EventData } from '../../schema/events/event-table.ts'

/** A request of a session, as lists have it. What was asked and answered stands in the log, at these seqs. */
export type RequestRow = {
  readonly requestId: string
  /** Of the event that opened it, in the order of all events. */
  readonly position: number
  readonly kind: EventData<'request.opened'>['kind']
  readonly status: 'open' | 'answered' | 'closed'
  /** Why it was closed. */
  readonly reason: EventData<'request.closed'>['reason'] | null
  readonly openedSeq: number
  readonly openedAt: string
  readonly expiresAt: string | null
  readonly settledSeq: number | null
  readonly settledAt: string | null
}
