import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Pool } from '../database/pool.ts'

export type DueInterruption = {
  readonly tenant: number
  readonly sessionId: string
  readonly turnId: string
}

const most = 100

/**
 * Active turns that were asked to stop and that the store ends itself: their grace is over by the
 * database's clock, or nobody holds them, by the rule of a claim. By the kept list: what the last
 * second brought may be missing, and what it ended may still be here.
 */
export const readDueInterruptions = (pool: Pool): Promise<DueInterruption[]> =>
  pool.use((connection) =>
    connection.query<DueInterruption>(
      `select t.tenant, s.session_id as "sessionId", t.turn_id as "turnId"
         from stemma.turn t join stemma.session s on s.sid = t.sid
           left join lateral stemma.owner_now_v1(t.tenant, t.owner_id) n on true
         where t.version = $1 and t.ended_seq is null and t.interrupt_seq is not null
           and (t.interrupt_due_at <= clock_timestamp() or t.released or t.incarnation is null
             or n.incarnation is null or n.incarnation <> t.incarnation or n.lost)
         order by t.interrupt_due_at limit $2`,
      [sessionsVersion, most],
    ),
  )
