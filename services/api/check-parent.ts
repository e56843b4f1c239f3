import { Refusal } from '../../schema/errors.ts'
import type { Target } from '../log/command.ts'
import { readSessions } from '../log/load-session.ts'
import type { RouteDeps } from './deps.ts'

/**
 * Refuses a new session whose parent is not there, or is deleted: nobody who deletes a tree finds a
 * child there afterwards. A session that is there already is left to the log, which repeats its
 * creation or refuses it. An import names any parent: its own may come later.
 *
 * It is read before the append: a parent is never removed in between (but for a purge), and one that
 * is deleted in that moment was there when it was asked for.
 */
export const checkParent = async (
  { pool }: Pick<RouteDeps, 'pool'>,
  target: Target,
  parentSessionId: string,
): Promise<void> => {
  const [parent, session] = await pool.use((connection) =>
    readSessions(connection, [{ ...target, sessionId: parentSessionId }, target]),
  )
  if (session || (parent && !parent.state.deleted)) return
  if (parent) throw new Refusal('wrong_state', `the parent ${parentSessionId} is deleted`)
  throw new Refusal('dangling_reference', `there is no session ${parentSessionId}`, {
    faults: [{ pointer: '/parent/sessionId', detail: 'names no session' }],
  })
}
