import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { RequestRow } from './request-row.ts'

export const requestTypes = [
  'request.opened',
  'request.answered',
  'request.closed',
] as const satisfies readonly EventType[]

/** The request that an event of these types is about. */
export const requestIdOf = (event: StoredEvent): string =>
  (event.data as { requestId: string }).requestId

/**
 * The request after one more event of its own; `request.opened` brings it into being. Where an
 * importer closed it at its source's end, a later event of the source takes the place of that.
 */
export const foldRequest = (
  request: RequestRow | undefined,
  event: StoredEvent & { readonly position: number },
): RequestRow | undefined => {
  switch (event.type) {
    case 'request.opened':
      return {
        requestId: event.data.requestId,
        position: event.position,
        kind: event.data.kind,
        status: 'open',
        reason: null,
        openedSeq: event.seq,
        openedAt: event.occurredAt,
        expiresAt: instantOf(event.data.expiresAt),
        settledSeq: null,
        settledAt: null,
      }
    case 'request.answered':
      return request && { ...request, status: 'answered', reason: null, ...settled(event) }
    case 'request.closed':
      return (
        request && { ...request, status: 'closed', reason: event.data.reason, ...settled(event) }
      )
    default:
      return request
  }
}

const settled = ({ seq, occurredAt }: StoredEvent) => ({ settledSeq: seq, settledAt: occurredAt })

/** In UTC; null for what an importer brought in and the database cannot hold. */
const instantOf = (text: string | undefined): string | null => {
  const instant = new Date(text ?? '')
  const year = instant.getUTCFullYear()
  return year >= 1 && year <= 9999 ? instant.toISOString() : null
}
