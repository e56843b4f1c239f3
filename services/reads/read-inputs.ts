import type { EventData } from '../../schema/events/event-table.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { messageName } from '../log/rules/names.ts'
import { inSnapshot } from './in-snapshot.ts'

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
    const waiting = session.state.inputs ?? {}
    const names = Object.keys(waiting).map(messageName)
    if (names.length === 0) return { data: [], asOfSeq: session.headSeq }
    const rows = await connection.query<{ seq: number; occurred_at: string; data: string }>(
      `select e.seq, e.occurred_at, e.data::text as data
         from stemma.name n join stemma.event e on e.sid = n.sid and e.seq = n.seq
         where n.sid = $1 and n.name = any (string_to_array($2, ' ')) order by e.seq`,
      [session.sid, names.join(' ')],
    )
    const data = rows.map((row): Input => {
      const admitted = JSON.parse(row.data) as EventData<'input.admitted'>
      return {
        ...admitted,
        delivery: waiting[admitted.messageId]!.delivery,
        status: 'waiting',
        seq: row.seq,
        admittedAt: row.occurred_at,
      }
    })
    return { data, asOfSeq: session.headSeq }
  })
