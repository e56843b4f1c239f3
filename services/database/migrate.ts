import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import { DatabaseError, type Connection } from './connection.ts'
import type { Pool } from './pool.ts'
import { readMigrations, type Migration } from './read-migrations.ts'
import { transactOn } from './run-transaction.ts'
import { readSchemaVersion, refuseNewerSchema, type SchemaVersion } from './schema-version.ts'

/** One key for all databases' migrations: advisory locks belong to a database already. */
const lockKey = 0x57e4a_0001
const lockPatienceMs = 600_000
const statementTimeoutMs = 3_600_000
/** Who waits for a table's lock makes all others wait behind: briefly, and then again. */
const tableLockTimeoutMs = 3_000
const tableLockTries = 20

/**
 * Brings the database to this build's schema. Any number of servers may call it at once: one does
 * the work, the others wait. A newer database is left as it is, and refused with schema_newer if
 * this build must not write to it; that is read before anything is changed.
 */
export const migrate = (
  pool: Pool,
  migrations: readonly Migration[] = readMigrations(),
): Promise<{ from: number; to: number }> =>
  pool.use(async (connection) => {
    const build = buildVersion(migrations)
    // Nothing to do is the usual case, and needs neither a lock nor the right to create.
    const seen = await versionThatMayBeWritten(connection, build)
    if (seen >= build) return { from: seen, to: seen }
    await lock(connection)
    try {
      const from = await versionThatMayBeWritten(connection, build)
      if (from === 0) await prepare(connection)
      for (const migration of migrations) {
        if (migration.version > from) await apply(connection, migration)
      }
      return { from, to: Math.max(from, build) }
    } finally {
      // A lost connection has given the lock back by itself.
      if (!connection.lost) await connection.query(`select pg_advisory_unlock(${lockKey})`)
    }
  })

/**
 * Whether this build may write to the database as it is: it has been migrated at least this far,
 * and not so far that this build must keep out.
 */
export const checkSchema = async (
  pool: Pool,
  migrations: readonly Migration[] = readMigrations(),
): Promise<SchemaVersion & { readonly mayWrite: boolean }> => {
  const build = buildVersion(migrations)
  const found = await pool.use(readSchemaVersion)
  return { ...found, mayWrite: found.version >= build && build >= found.oldestWriter }
}

/** A build's version is that of the newest migration it knows. */
const buildVersion = (migrations: readonly Migration[]): number => migrations.at(-1)!.version

const versionThatMayBeWritten = async (connection: Connection, build: number): Promise<number> => {
  const found = await readSchemaVersion(connection)
  refuseNewerSchema(found, build)
  return found.version
}

/**
 * Asks again and again instead of waiting inside a statement: `create index concurrently` of the one
 * who has the lock waits for every statement that runs, and so for one that waits for the lock.
 */
const lock = async (connection: Connection): Promise<void> => {
  const deadline = Date.now() + lockPatienceMs
  for (;;) {
    const [row] = await connection.query<{ locked: boolean }>(
      `select pg_try_advisory_lock(${lockKey}) as locked`,
    )
    if (row!.locked) return
    if (Date.now() > deadline) {
      throw new Refusal('overloaded', 'another server has been migrating for ten minutes')
    }
    await sleep(50 + Math.random() * 100)
  }
}

const prepare = async (connection: Connection): Promise<void> => {
  await connection.query('create schema if not exists stemma')
  await connection.query(`create table if not exists stemma.schema_version (
    version int primary key,
    name text not null,
    oldest_writer int not null,
    applied_at timestamptz not null default now())`)
}

const apply = async (connection: Connection, migration: Migration): Promise<void> => {
  const run = async (on: Connection): Promise<void> => {
    for (const statement of migration.statements) {
      await on.query(statement, undefined, { timeoutMs: statementTimeoutMs })
    }
    await on.query(
      'insert into stemma.schema_version (version, name, oldest_writer) values ($1, $2, $3)',
      [migration.version, migration.name, migration.oldestWriter],
    )
  }
  const limits = { lockTimeoutMs: tableLockTimeoutMs, statementTimeoutMs }
  for (let tries = 1; ; tries += 1) {
    try {
      if (migration.inTransaction) await transactOn(connection, limits, run)
      else await withoutTimeLimit(connection, run)
      return
    } catch (error) {
      const waits = error instanceof DatabaseError && error.code === '55P03'
      if (!waits || tries === tableLockTries) throw error
      await sleep(200 * tries)
    }
  }
}

const withoutTimeLimit = async (
  connection: Connection,
  work: (connection: Connection) => Promise<void>,
): Promise<void> => {
  const [before] = await connection.query<{ limit: string }>(
    `select current_setting('statement_timeout') as limit,
       set_config('statement_timeout', '0', false)`,
  )
  try {
    await work(connection)
  } finally {
    if (!connection.lost) {
      await connection.query(`select set_config('statement_timeout', $1, false)`, [before!.limit])
    }
  }
}
