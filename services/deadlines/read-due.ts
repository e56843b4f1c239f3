import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Connection } from '../database/connection.ts'
import { followsSource, type SessionState } from '../log/session-state.ts'

/** A session in which something may be due. `turnId`: of the turn that is to end. */
export type Due = {
  readonly sid: number
  readonly tenant: number
  readonly sessionId: string
  readonly turnId?: string
}

/** At most so many in one look; the next begins behind the last. */
export const dueAtOnce = 200

/** `next`: behind which sid the next look begins, if there may be more. */
export type DuePage = { readonly due: readonly Due[]; readonly next?: number }

type Row = {
  sid: number
  tenant: number
  session_id: string
  head: number
  state: string
  turn_id?: string
}

/** Sessions with open requests that have expired, in the order of their sids, from behind `afterSid`. */
export const readExpired = async (connection: Connection, afterSid: number): Promise<DuePage> => {
  const rows = await connection.query<Row>(
    `select s.sid, s.tenant, s.session_id, s.head, s.state from stemma.session s
       where s.sid in (select r.sid from stemma.request r
           where r.version = $1 and r.sid > $2 and r.status = 'open'
             and r.expires_at <= clock_timestamp())
       order by s.sid limit $3`,
    [sessionsVersion, afterSid, dueAtOnce],
  )
  return pageOf(rows)
}

/**
 * Interrupted turns whose grace is over, that were released, or whose owner is gone; in the order of
 * their sessions' sids, from behind `afterSid`.
 */
export const readInterrupted = async (
  connection: Connection,
  afterSid: number,
): Promise<DuePage> => {
  const rows = await connection.query<Row>(
    `select s.sid, s.tenant, s.session_id, s.head, s.state, t.turn_id from stemma.turn t
         join stemma.session s on s.sid = t.sid
         left join lateral stemma.owner_now_v1(t.tenant, t.owner_id) o on true
       where t.version = $1 and t.sid > $2 and t.ended_seq is null and t.interrupt_seq is not null
         and (t.interrupt_due_at <= clock_timestamp() or t.released or o.incarnation is null
           or t.incarnation is null or o.incarnation <> t.incarnation or o.lost)
       order by t.sid limit $3`,
    [sessionsVersion, afterSid, dueAtOnce],
  )
  return pageOf(rows)
}

/** Without copies whose source is followed: it keeps its own time, and the rules would write nothing. */
const pageOf = (rows: readonly Row[]): DuePage => ({
  due: rows
    .filter(({ head, state }) => !followsSource(JSON.parse(state) as SessionState, head))
    .map(toDue),
  ...(rows.length === dueAtOnce && { next: rows.at(-1)!.sid }),
})

const toDue = ({ sid, tenant, session_id, turn_id }: Row): Due => ({
  sid,
  tenant,
  sessionId: session_id,
  ...(turn_id !== undefined && { turnId: turn_id }),
})
