import type { NewEvent } from '../../schema/events/envelope.ts'
import type { EventData } from '../../schema/events/event-table.ts'
import type { Act } from '../../services/log/command.ts'
import { randomSession } from './random-session.ts'

const origin = { system: 'random', sessionId: 'source' }

/**
 * A random session as an importer brings it in, a few events at a time, in which some of the
 * requests that were closed are answered.
 */
export const randomImport = (random: () => number, turns: number): readonly Act[] => {
  const events = randomSession(random, turns).log.map(
    ({ eventId, type, version, data, seq }): NewEvent => {
      const common = { eventId, version, meta: {} }
      if (type === 'session.created') return { ...common, type, data: { ...Object(data), origin } }
      if (type === 'request.closed' && random() < 0.6) {
        const { requestId } = data as EventData<'request.closed'>
        const answer = { messageId: `msg_answer_${seq}`, answers: [['yes']] }
        return {
          ...common,
          type: 'request.answered',
          data: { requestId, ...answer, by: { subject: 'me' } },
        }
      }
      return { ...common, type, data } as NewEvent
    },
  )
  const acts: Act[] = []
  while (events.length > 0) {
    acts.push({
      kind: 'import',
      origin,
      events: events.splice(0, 1 + Math.floor(random() * 5)),
    })
  }
  return acts
}
