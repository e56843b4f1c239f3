import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import type { Target } from '../log/command.ts'
import { readSession, type SessionRow } from '../log/load-session.ts'

/**
 * Reads of one session in one snapshot that writes nothing, so that head, rows and events are of one
 * moment. Throws Refusal `session_not_found`, and `session_deleted` for a deleted one.
 */
export const inSnapshot = async <T>(
  pool: Pool,
  target: Target,
  work: (connection: Connection, session: SessionRow) => Promise<T>,
): Promise<T> =>
  runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (connection) => {
    const session = await readSession(connection, target)
    if (!session) throw new Refusal('session_not_found', `there is no session ${target.sessionId}`)
    if (session.state.deleted) {
      throw new Refusal('session_deleted', `session ${target.sessionId} is deleted`)
    }
    return work(connection, session)
  })
