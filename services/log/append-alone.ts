import { DatabaseError, type Connection } from '../database/connection.ts'
import { callAppend, guardFailed, type AppendResult } from './append-call.ts'
import type { Share } from './pending.ts'

/**
 * Another holds the row for longer than we wait; deadlock; serialisation; a transaction that ended
 * with an id that was taken; an owner that is not any more what the decision took it for: decided again.
 */
export const tryAgain: ReadonlySet<string> = new Set([
  '55P03',
  '40P01',
  '40001',
  '25P02',
  guardFailed,
])

const uniqueViolation = '23505'

/** One share in a call of its own. `taken`: an id, a name or a key is there, and nothing was appended. */
export const appendAlone = async (
  connection: Connection,
  share: Share,
): Promise<AppendResult | 'taken'> => {
  try {
    const [result] = await callAppend(connection, [share.append], { wait: true })
    return result!
  } catch (error) {
    if (error instanceof DatabaseError && error.code === uniqueViolation) return 'taken'
    throw error
  }
}
