import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import type { PlacedEvent } from '../reads/list-event.ts'
import { chunkEvents, eventColumns, toProblem, writeOrSetAside, type Stalled } from './set-aside.ts'

const mostTries = 20
const triesAtOnce = 20

/**
 * Tries the sessions that the lists have set aside, and that were appended to since, again: at once,
 * then after a time that doubles, `mostTries` times. A try is counted before it is made. One that
 * succeeds brings the session up to the checkpoint; one that fails elsewhere than before is reported.
 */
export const retryStalled = async (
  pool: Pool,
  report: (problem: unknown) => void,
): Promise<void> => {
  const due = await pool.use((connection) =>
    connection.query<{ sid: number; seq: number }>(countSql, [
      sessionsVersion,
      mostTries,
      triesAtOnce,
    ]),
  )
  for (const { sid, seq } of due) {
    let caughtUp: CaughtUp
    do {
      caughtUp = await runTransaction(pool, {}, (connection) => catchUp(connection, sid))
      for (const one of caughtUp.stalled) if (one.seq !== seq) report(toProblem(one))
    } while (!caughtUp.done)
  }
}

const countSql = `with due as (
    select l.sid, s.head from stemma.lists_stalled l join stemma.session s on s.sid = l.sid
      where l.version = $1 and l.tries < $2 and s.head > l.head
        and l.tried_at + make_interval(secs => power(2, l.tries - 1) - 1) <= clock_timestamp()
      order by l.sid limit $3 for update of l skip locked)
  update stemma.lists_stalled l
    set tries = l.tries + 1, tried_at = clock_timestamp(), head = due.head
    from due where l.version = $1 and l.sid = due.sid returning l.sid, l.seq`

type CaughtUp = { readonly done: boolean; readonly stalled: readonly Stalled[] }

/** One chunk of what the session's rows lack below the checkpoint, whose lock keeps others off. */
const catchUp = async (connection: Connection, sid: number): Promise<CaughtUp> => {
  const [checkpoint] = await connection.query<{ position: number }>(
    'select position from stemma.sessions_checkpoint where version = $1 for update',
    [sessionsVersion],
  )
  const events = await connection.query<PlacedEvent>(
    `select ${eventColumns} from stemma.event e
       where e.sid = $2 and e.position <= $3 and e.seq > coalesce(
         (select i.seq from stemma.session_info i where i.version = $1 and i.sid = $2), 0)
       order by e.seq limit $4`,
    [sessionsVersion, sid, checkpoint?.position ?? 0, chunkEvents],
  )
  const stalled = await writeOrSetAside(connection, events)
  if (stalled.length > 0) return { done: true, stalled }
  if (events.length === chunkEvents) return { done: false, stalled }
  await connection.query('delete from stemma.lists_stalled where version = $1 and sid = $2', [
    sessionsVersion,
    sid,
  ])
  return { done: true, stalled }
}
