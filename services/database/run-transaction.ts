import { DatabaseError, graceMs, type Connection, type Row } from './connection.ts'
import type { Pool } from './pool.ts'

export type TransactionOptions = {
  readonly isolation?: 'read committed' | 'repeatable read'
  readonly readOnly?: boolean
  /** How long one statement may wait for a lock (55P03). */
  readonly lockTimeoutMs?: number
  /** How long one statement may run (57014). */
  readonly statementTimeoutMs?: number
}

/**
 * Runs the work in one transaction and commits it. Rolls back if the work throws, and throws that.
 * If the connection is lost before the commit was sent, nothing was stored; if it is lost in the
 * commit, ConnectionLost leaves open whether it was. A transaction in which a statement failed cannot
 * commit, even if the work went on: DatabaseError 25P02.
 */
export const runTransaction = <T>(
  pool: Pool,
  options: TransactionOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> => pool.use((connection) => transactOn(connection, options, work))

/** The same on a connection that is held already, and has no transaction open. */
export const transactOn = async <T>(
  connection: Connection,
  options: TransactionOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> => {
  await connection.query(beginSql(options))
  const guard = guarded(connection, options.statementTimeoutMs)
  let result: T
  try {
    result = await work(guard)
    if (guard.failed) throw new DatabaseError(aborted, 'a statement of the transaction failed')
  } catch (error) {
    // On a lost connection nothing more is sent: the server rolls back by itself. If the rollback
    // fails, the connection is lost, and the work's own error says more.
    if (!connection.lost) await connection.query('rollback').catch(() => {})
    throw error
  }
  await connection.query('commit')
  return result
}

const aborted = '25P02'

/** Several statements in one message: a transaction costs no more round trips for its limits. */
const beginSql = (options: TransactionOptions): string => {
  const { isolation = 'read committed', readOnly, lockTimeoutMs, statementTimeoutMs } = options
  const begin = `begin isolation level ${isolation}${readOnly ? ' read only' : ''}`
  const limits = Object.entries({
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs,
  }).flatMap(([name, ms]) =>
    ms === undefined ? [] : [`set local ${name} = ${Math.max(1, Math.trunc(ms))}`],
  )
  return [begin, ...limits].join('; ')
}

/**
 * Knows whether the transaction is aborted: PostgreSQL answers the commit of such a one with a
 * rollback and no error. A statement that succeeds later shows that a savepoint undid the failure.
 */
const guarded = (
  connection: Connection,
  statementTimeoutMs: number | undefined,
): Connection & { readonly failed: boolean } => {
  const patience =
    statementTimeoutMs === undefined ? {} : { timeoutMs: statementTimeoutMs + graceMs }
  let failed = false
  return {
    query: async <R extends Row>(
      sql: string,
      parameters?: readonly unknown[],
      options?: { readonly timeoutMs?: number },
    ) => {
      try {
        const rows = await connection.query<R>(sql, parameters, options ?? patience)
        failed = false
        return rows
      } catch (error) {
        if (error instanceof DatabaseError) failed = true
        throw error
      }
    },
    get lost() {
      return connection.lost
    },
    get failed() {
      return failed
    },
  }
}
