import { rowKey, type Entry } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import { turnTypes } from '../../projections/turns/fold.ts'
import type { TurnRow } from '../../projections/turns/turn-row.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { inSnapshot } from './in-snapshot.ts'
import { overlayOfSession } from './list-overlay.ts'
import { turnColumns, turnEntry, type StoredTurn } from './list-rows.ts'
import { toTurns, type Turn } from './to-turns.ts'

/** Throws Refusal `session_not_found`, `session_deleted`, `turn_not_found`. */
export const readTurn = async (
  pool: Pool,
  target: Target,
  turnId: string,
): Promise<{ readonly data: Turn; readonly asOfSeq: number }> =>
  inSnapshot(pool, target, async (connection, session) => {
    const row = await readRow(connection, session.sid, turnId)
    if (!row) throw new Refusal('turn_not_found', `the session has no turn ${turnId}`)
    const [turn] = await toTurns(connection, session, [row])
    return { data: turn!, asOfSeq: session.headSeq }
  })

const readRow = async (
  connection: Connection,
  sid: number,
  turnId: string,
): Promise<Entry<TurnRow> | undefined> => {
  const { turns } = await overlayOfSession(connection, sid, turnTypes)
  const changed = turns.get(rowKey(sid, turnId))
  if (changed) return changed
  const [kept] = await connection.query<StoredTurn>(
    `select ${turnColumns} from stemma.turn t
       where t.version = $1 and t.sid = $2 and t.turn_id = $3`,
    [sessionsVersion, sid, turnId],
  )
  return kept && turnEntry(kept)
}
