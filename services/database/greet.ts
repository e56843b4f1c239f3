import type { Connection } from './connection.ts'

/** How long a statement waits for a lock unless its transaction says otherwise. */
const lockTimeoutMs = 5_000
/** A server of ours that stalls inside a transaction does not hold its locks for longer. */
const idleInTransactionMs = 10_000

/**
 * The first words on a new connection: its limits, and which log it leads to. The limits are not
 * startup parameters, because connection poolers refuse those they do not know.
 */
export const greet = async (
  query: Connection['query'],
  statementTimeoutMs: number,
): Promise<string> => {
  await query(limitsSql, [statementTimeoutMs, lockTimeoutMs, idleInTransactionMs])
  // Some hosted servers keep these functions from ordinary roles. (If the connection was lost, the
  // second attempt says so as well.)
  const [row] = await query<Incarnation>(incarnationSql).catch(() =>
    query<Incarnation>(fallbackSql),
  )
  return row!.incarnation
}

type Incarnation = { incarnation: string }

// JIT cost 13 ms on one call of a function that takes 1.
const limitsSql = `select set_config('statement_timeout', $1, false),
  set_config('lock_timeout', $2, false),
  set_config('idle_in_transaction_session_timeout', $3, false),
  set_config('jit', 'off', false), set_config('TimeZone', 'UTC', false),
  set_config('DateStyle', 'ISO', false),
  set_config('default_transaction_isolation', 'read committed', false)`

// The timeline from the WAL that is being written: the checkpoint's lags behind a promotion.
const incarnationSql = `select concat_ws('.', (select system_identifier from pg_control_system()),
    case when pg_is_in_recovery() then (select timeline_id from pg_control_checkpoint())
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end,
    d.oid) as incarnation
  from pg_database d where d.datname = current_database()`

const fallbackSql = `select concat_ws('.', 'database', d.oid, c.oid) as incarnation
  from pg_database d
  left join (pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'stemma')
    on c.relname = 'event'
  where d.datname = current_database()`
