import { Refusal } from '../../schema/errors.ts'
import type { EventData } from '../../schema/events/event-table.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { readEvents } from '../log/read-events.ts'
import { messageName } from '../log/rules/names.ts'
import { inSnapshot } from '../reads/in-snapshot.ts'
import type { Input } from '../reads/read-inputs.ts'

/** An input as it was admitted, also if it has been delivered since. Throws `input_not_found`. */
export const readInput = (pool: Pool, target: Target, messageId: string): Promise<Input> =>
  inSnapshot(pool, target, async (connection, session) => {
    const [name] = await connection.query<{ seq: number }>(
      'select seq from stemma.name where sid = $1 and name = $2',
      [session.sid, messageName(messageId)],
    )
    const [row] = name
      ? await readEvents(connection, session.sid, { afterSeq: name.seq - 1, limit: 1 })
      : []
    if (row?.type !== 'input.admitted') {
      throw new Refusal('input_not_found', `there is no input ${messageId}`)
    }
    const admitted = JSON.parse(row.data) as EventData<'input.admitted'>
    return { ...admitted, status: 'waiting', seq: row.seq, admittedAt: row.occurredAt }
  })
