import { Refusal } from '../../schema/errors.ts'
import type { NewEvent } from '../../schema/events/envelope.ts'
import { eventTable, type EventData, type EventType } from '../../schema/events/event-table.ts'
import { newId } from '../log/new-id.ts'

/** An event that a route writes for its caller. Throws Refusal `too_large`. */
export const newEvent = <T extends EventType>(
  type: T,
  data: EventData<T>,
  maxEventBytes: number,
): NewEvent => {
  checkEventSize(data, maxEventBytes)
  return {
    eventId: newId('evt'),
    type,
    version: eventTable[type].version,
    data,
    meta: {},
  } as NewEvent
}

/** Throws Refusal `too_large` if what a body brings would be no event. */
export const checkEventSize = (data: unknown, maxEventBytes: number): void => {
  const size = Buffer.byteLength(JSON.stringify(data))
  if (size <= maxEventBytes) return
  throw new Refusal(
    'too_large',
    `the body makes an event of ${size} bytes, ${maxEventBytes} are taken: put larger content to ` +
      'PUT /v1/blobs/{sha256} and refer to it',
    { faults: [{ pointer: '', detail: `makes an event of ${size} bytes` }] },
  )
}
