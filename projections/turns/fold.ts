import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { mostClaims, type TurnClaim, type TurnRow } from './turn-row.ts'

export const turnTypes = [
  'turn.started',
  'turn.claimed',
  'turn.released',
  'turn.interrupt.requested',
  'turn.ended',
] as const satisfies readonly EventType[]

/** The turn that an event of these types is about. */
export const turnIdOf = (event: StoredEvent): string => (event.data as { turnId: string }).turnId

/**
 * The turn after one more event of its own; `turn.started` brings it into being. Where an importer
 * ended it at its source's end, a later event of the source takes the place of that end.
 */
export const foldTurn = (turn: TurnRow | undefined, event: StoredEvent): TurnRow | undefined => {
  if (event.type === 'turn.started') return start(event)
  if (!turn) return undefined
  const active = { ...turn, endedSeq: null, endedAt: null, outcome: null }
  switch (event.type) {
    case 'turn.claimed': {
      const { ownerId, incarnation, fromOwnerId, fromFence, fence } = event.data
      const claim: TurnClaim = {
        ownerId,
        ...(incarnation !== undefined && { incarnation }),
        fromOwnerId,
        fromFence,
        fence,
        seq: event.seq,
        at: event.occurredAt,
      }
      return {
        ...active,
        ownerId,
        incarnation: incarnation ?? null,
        fence,
        released: false,
        heldSeq: event.seq,
        claims: [...turn.claims, claim].slice(-mostClaims),
      }
    }
    case 'turn.released':
      return { ...active, fence: event.data.fence, released: true, heldSeq: event.seq }
    case 'turn.interrupt.requested': {
      const { graceMs } = event.data
      return {
        ...active,
        interruptSeq: turn.interruptSeq ?? event.seq,
        interruptDueAt:
          graceMs === undefined ? turn.interruptDueAt : later(event.recordedAt, graceMs),
      }
    }
    case 'turn.ended':
      return {
        ...turn,
        fence: event.data.fence,
        endedSeq: event.seq,
        endedAt: event.occurredAt,
        outcome: event.data.outcome,
      }
    default:
      return turn
  }
}

const start = (event: Extract<StoredEvent, { type: 'turn.started' }>): TurnRow => {
  const { turnId, ownerId, incarnation, fence } = event.data
  return {
    turnId,
    ownerId,
    incarnation: incarnation ?? null,
    fence,
    released: false,
    startedSeq: event.seq,
    startedAt: event.occurredAt,
    heldSeq: event.seq,
    claims: [],
    interruptSeq: null,
    interruptDueAt: null,
    endedSeq: null,
    endedAt: null,
    outcome: null,
  }
}

/**
 * The database's own clock counts: an importer may say that something happened long ago. What lies
 * beyond a century is never: no database need hold it.
 */
const later = (recordedAt: string, ms: number): string =>
  new Date(Date.parse(recordedAt) + Math.min(ms, centuryMs)).toISOString()

const centuryMs = 100 * 365 * 86_400_000
