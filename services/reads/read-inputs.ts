import type { EventData } from '../../schema/events/event-table.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import type { SessionRow } from '../log/load-session.ts'
import { messageName } from '../log/rules/names.ts'
import { entryOf } from '../log/session-state.ts'
import { inSnapshot } from './in-snapshot.ts'
import { readNamed, type NamedEvent } from './read-named.ts'

/** An input that waits to be delivered. `seq` is that of its admission. */
export type Input = Omit<EventData<'input.admitted'>, 'delivery'> & {
  readonly delivery: 'steer' | 'queue'
  readonly status: 'waiting'
  readonly seq: number
  readonly admittedAt: string
}

/** The inputs that wait, oldest first. Throws Refusal `session_not_found`, `session_deleted`. */
export const readInputs = async (
  pool: Pool,
  target: Target,
): Promise<{ readonly data: readonly Input[]; readonly asOfSeq: number }> =>
  inSnapshot(pool, target, async (connection, session) => {
    const wanted = [{ sid: session.sid, names: waitingNames(session) }]
    const events = (await readNamed(connection, wanted)).get(session.sid)!
    return { data: waitingOf(session, events), asOfSeq: session.headSeq }
  })

/** The names that lead to a session's waiting inputs. */
export const waitingNames = ({ state }: SessionRow): string[] =>
  Object.keys(state.inputs ?? {}).map(messageName)

/** The waiting inputs among the named events, in the order in which they were admitted. */
export const waitingOf = ({ state }: SessionRow, events: readonly NamedEvent[]): Input[] =>
  events.flatMap((event): Input[] => {
    if (event.type !== 'input.admitted') return []
    const admitted = JSON.parse(event.data) as EventData<'input.admitted'>
    const waiting = entryOf(state.inputs, admitted.messageId)
    if (!waiting) return []
    const { seq, occurredAt: admittedAt } = event
    return [{ ...admitted, delivery: waiting.delivery, status: 'waiting', seq, admittedAt }]
  })
