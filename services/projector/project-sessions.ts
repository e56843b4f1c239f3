import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readHorizon } from '../log/read-horizon.ts'
import type { PlacedEvent } from '../reads/list-event.ts'
import { retryStalled } from './retry-stalled.ts'
import { chunkEvents, eventColumns, toProblem, writeOrSetAside, type Stalled } from './set-aside.ts'

/**
 * Follows the order of all events: folds what lies between the checkpoint and the horizon into the
 * rows of sessions, turns, requests and what waits, one write for each, and moves the checkpoint in
 * the same transaction. Another server that is at it is left to it. A session with an event that
 * cannot be folded or written is set aside, reported, and holds up no other. Gives whether there is
 * more to do at once.
 */
export const projectSessions = async (
  pool: Pool,
  report: (problem: unknown) => void = () => {},
): Promise<boolean> => {
  const horizon = await pool.use(readHorizon)
  const { full, stalled } = await projectChunk(pool, horizon)
  for (const one of stalled) report(toProblem(one))
  if (!full) await retryStalled(pool, report)
  return full
}

const projectChunk = (
  pool: Pool,
  horizon: number,
): Promise<{ readonly full: boolean; readonly stalled: readonly Stalled[] }> =>
  runTransaction(pool, {}, async (connection) => {
    const [checkpoint] = await connection.query<{ position: number }>(
      `select position from stemma.sessions_checkpoint where version = $1 for update skip locked`,
      [sessionsVersion],
    )
    if (!checkpoint || checkpoint.position >= horizon) return { full: false, stalled: [] }
    const events = await connection.query<PlacedEvent>(
      `select ${eventColumns} from stemma.event e
         where e.position > $1 and e.position <= $2 order by e.position limit $3`,
      [checkpoint.position, horizon, chunkEvents],
    )
    const aside = await readAside(connection, events)
    const stalled = await writeOrSetAside(
      connection,
      // A session's events side by side, in the order of seq.
      events.filter(({ sid }) => !aside.has(sid)).toSorted((a, b) => a.sid - b.sid),
    )
    const full = events.length === chunkEvents
    await connection.query(
      'update stemma.sessions_checkpoint set position = $2 where version = $1',
      [sessionsVersion, full ? events.at(-1)!.position : horizon],
    )
    return { full, stalled }
  })

/** Those of the events' sessions that are set aside. */
const readAside = async (
  connection: Connection,
  events: readonly PlacedEvent[],
): Promise<ReadonlySet<number>> => {
  const rows = await connection.query<{ sid: number }>(
    `select sid from stemma.lists_stalled
       where version = $1 and sid = any ($2::text::bigint[])`,
    [sessionsVersion, numberList([...new Set(events.map(({ sid }) => sid))])],
  )
  return new Set(rows.map(({ sid }) => sid))
}
