import type { Pool } from '../../database/pool.ts'
import type { RebuildOutcome, RebuildPhase } from './rebuild.ts'

/** A rebuild as it stands, whoever works on it. */
export type RebuildProgress = {
  readonly generation: number
  readonly replaces: number
  readonly phase: RebuildPhase
  readonly outcome: RebuildOutcome | null
  readonly verify: boolean
  readonly difference: string | null
  readonly beganAt: string
  readonly endedAt: string | null
  readonly sessions: number
  readonly filledSessions: number
  readonly verifiedSessions: number
  /** Events folded so far. */
  readonly events: number
}

/** Undefined if there is no such rebuild; without a generation, the newest. */
export const readRebuild = async (
  pool: Pool,
  name: string,
  generation?: number,
): Promise<RebuildProgress | undefined> => {
  const [row] = await pool.use((connection) =>
    connection.query<RebuildProgress>(readSql, [name, generation ?? null]),
  )
  return row
}

const readSql = `select r.version as generation, r.replaces, r.phase, r.outcome, r.verify,
    r.difference, r.began_at as "beganAt", r.ended_at as "endedAt",
    coalesce(sum(g.sessions), 0)::bigint as sessions,
    coalesce(sum(g.filled_sessions), 0)::bigint as "filledSessions",
    coalesce(sum(g.verified_sessions), 0)::bigint as "verifiedSessions",
    (r.caught_up + coalesce(sum(g.events), 0))::bigint as events
  from stemma.rebuild r left join stemma.rebuild_range g using (name, version)
  where r.name = $1 and ($2::int is null or r.version = $2)
  group by r.name, r.version order by r.version desc limit 1`
