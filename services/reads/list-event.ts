import { isListed, isRequest, isTurn, type ListEvent } from '../../projections/lists/fold-lists.ts'
import { idPattern } from '../../schema/events/shapes.ts'
import { storedOf, type InfoEvent } from './session-rows.ts'

/** A row of the log with its tenant. */
export type PlacedEvent = InfoEvent & { tenant: number }

/**
 * The event as the folds of the lists take it. Throws TypeError where its ids are none: they travel
 * joined with those of other sessions.
 */
export const listEventOf = (row: PlacedEvent): ListEvent => {
  const { sid, tenant, position } = row
  const event = { ...storedOf(row), sid, tenant, position }
  if (isListed(event.type) && !namedBy(event).every(isId)) {
    throw new TypeError(`${event.type} has an id that is none`)
  }
  return event
}

/** The events that can be read. What cannot counts for as little as one of an unknown type. */
export const readableEvents = (rows: readonly PlacedEvent[]): ListEvent[] =>
  rows.flatMap((row) => {
    try {
      return [listEventOf(row)]
    } catch {
      return []
    }
  })

const id = new RegExp(idPattern)

export const isId = (value: unknown): value is string => typeof value === 'string' && id.test(value)

/** What an event of the lists is about, and the requests that a turn takes up. */
const namedBy = ({ type, data }: ListEvent): readonly unknown[] => {
  const { turnId, requestId, messageId, resumes } = data as Record<string, unknown>
  const about = isTurn(type) ? turnId : isRequest(type) ? requestId : messageId
  return [about, ...((resumes ?? []) as readonly unknown[])]
}
