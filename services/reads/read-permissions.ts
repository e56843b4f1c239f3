import type { EventData } from '../../schema/events/event-table.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { permissionName, revokedName } from '../log/rules/names.ts'
import { inSnapshot } from './in-snapshot.ts'

/** A decision that stands for later requests of its session. */
export type StandingPermission = EventData<'permission.granted'>['rule'] & {
  readonly grantedSeq: number
  readonly grantedAt: string
}

/** Those not revoked, in the order in which they were given. Throws `session_not_found`, `session_deleted`. */
export const readPermissions = async (
  pool: Pool,
  target: Target,
): Promise<{ readonly data: readonly StandingPermission[]; readonly asOfSeq: number }> =>
  inSnapshot(pool, target, async (connection, session) => {
    const rows = await connection.query<{ seq: number; occurred_at: string; data: string }>(
      `select e.seq, e.occurred_at, e.data::text as data
         from stemma.name n join stemma.event e on e.sid = n.sid and e.seq = n.seq
         where n.sid = $1 and n.name > $2 and n.name < $3
           and not exists (select 1 from stemma.name r
             where r.sid = n.sid and r.name = $4 || substr(n.name, length($2) + 1))
         order by e.seq`,
      [session.sid, permissionName(''), permissionName('~~'), revokedName('')],
    )
    const data = rows.map(({ seq, occurred_at: grantedAt, data: json }) => ({
      ...(JSON.parse(json) as EventData<'permission.granted'>).rule,
      grantedSeq: seq,
      grantedAt,
    }))
    return { data, asOfSeq: session.headSeq }
  })
