import { rowKey } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import { turnTypes } from '../../projections/turns/fold.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { inSnapshot } from './in-snapshot.ts'
import { overlayOfSession } from './list-overlay.ts'
import { turnColumns, turnEntry, type StoredTurn } from './list-rows.ts'
import { toTurns, type Turn } from './to-turns.ts'

export type TurnsQuery = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The seq of the start of the last turn that was shown. */
  readonly after?: number
}

export type TurnsPage = {
  readonly data: readonly Turn[]
  readonly next: number | undefined
  readonly asOfSeq: number
}

/** A page of a session's turns. Throws Refusal `session_not_found`, `session_deleted`. */
export const readTurns = async (
  pool: Pool,
  target: Target,
  { limit, order, after }: TurnsQuery,
): Promise<TurnsPage> =>
  inSnapshot(pool, target, async (connection, session) => {
    const { sid } = session
    const sign = order === 'asc' ? 1 : -1
    const from = after ?? (order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER)
    const overlay = await overlayOfSession(connection, sid, turnTypes)
    const kept = await connection.query<StoredTurn>(order === 'asc' ? ascSql : descSql, [
      sessionsVersion,
      sid,
      from,
      limit + 1,
    ])
    const rows = new Map(kept.map((row) => [rowKey(sid, row.turn_id), turnEntry(row)]))
    for (const [key, row] of overlay.turns) {
      if ((row.startedSeq - from) * sign > 0) rows.set(key, row)
    }
    const found = [...rows.values()].toSorted((a, b) => (a.startedSeq - b.startedSeq) * sign)
    const page = found.slice(0, limit)
    return {
      data: await toTurns(connection, session, page),
      next: found.length > limit ? page.at(-1)!.startedSeq : undefined,
      asOfSeq: session.headSeq,
    }
  })

const ascSql = `select ${turnColumns} from stemma.turn t
  where t.version = $1 and t.sid = $2 and t.started_seq > $3 order by t.started_seq limit $4`

const descSql = `select ${turnColumns} from stemma.turn t
  where t.version = $1 and t.sid = $2 and t.started_seq < $3 order by t.started_seq desc limit $4`
