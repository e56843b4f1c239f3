import { Refusal } from '../../schema/errors.ts'
import type { NewEvent } from '../../schema/events/envelope.ts'
import { validateEvents } from '../log/validate-event.ts'
import type { ApiDeps } from './deps.ts'

/** The events of a body, checked and complete. Throws Refusals with pointers. */
export const checkEvents = (
  events: readonly unknown[],
  mode: 'append' | 'import',
  { maxEvents, maxEventBytes }: ApiDeps['settings'],
): NewEvent[] => {
  if (events.length > maxEvents) {
    throw new Refusal('too_large', `a call takes ${maxEvents} events: send the rest in others`, {
      faults: [{ pointer: '/events', detail: `has ${events.length} events` }],
    })
  }
  return validateEvents(events, { pointer: '/events', mode, maxEventBytes })
}
