import { randomUUID } from 'node:crypto'
import { connect, type OpenConnection } from '../../services/database/connection.ts'
import { migrate } from '../../services/database/migrate.ts'
import { openPool, type Pool } from '../../services/database/pool.ts'
import { testOwners } from './test-owners.ts'
import { testServerUrl } from './test-server.ts'

/** A database of the test's own; disposing drops it, whoever is still connected. */
export type TestDatabase = AsyncDisposable & {
  readonly url: string
  readonly name: string
  readonly pool: Pool
}

/**
 * Makes a database with the current schema, as a copy of a template that is migrated once per
 * server. `empty` makes one without any schema.
 */
export const openTestDatabase = async (
  options: { readonly empty?: boolean; readonly max?: number } = {},
): Promise<TestDatabase> => {
  const server = await testServerUrl()
  const name = `test_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  await asAdmin(server, async (admin) => {
    if (!options.empty) await makeTemplate(server, admin)
    await admin.query(`create database ${name} template ${options.empty ? 'template0' : template}`)
  })
  const url = databaseUrl(server, name)
  const pool = openPool({ url, max: options.max ?? 8, applicationName: 'stemma-test' })
  return {
    url,
    name,
    pool,
    [Symbol.asyncDispose]: async () => {
      await pool[Symbol.asyncDispose]()
      await asAdmin(server, (admin) => admin.query(`drop database if exists ${name} with (force)`))
    },
  }
}

const template = 'stemma_template'

const testOwnersSql = `insert into stemma.owner
    (tenant, owner_id, incarnation, lifetime, registered_at, heartbeat_at)
  select 1, owner_id, 1, 'process', clock_timestamp(), clock_timestamp()
    from unnest('{${testOwners.join(',')}}'::text[]) owner_id`

const databaseUrl = (server: string, name: string): string => {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** Migrates beside, and renames when it is done: a template that is there is whole. */
const makeTemplate = async (server: string, admin: OpenConnection): Promise<void> => {
  await admin.query('select pg_advisory_lock(57041)')
  try {
    const [row] = await admin.query<{ there: boolean }>(
      'select exists (select from pg_database where datname = $1) as there',
      [template],
    )
    if (row!.there) return
    await admin.query('drop database if exists stemma_template_draft with (force)')
    await admin.query('create database stemma_template_draft template template0')
    const url = databaseUrl(server, 'stemma_template_draft')
    await using pool = openPool({ url, max: 1, applicationName: 'stemma-test' })
    await migrate(pool)
    await pool.use((connection) => connection.query(testOwnersSql))
    await pool[Symbol.asyncDispose]()
    await admin.query(`alter database stemma_template_draft rename to ${template}`)
  } finally {
    await admin.query('select pg_advisory_unlock(57041)')
  }
}

const asAdmin = async <T>(
  server: string,
  work: (admin: OpenConnection) => Promise<T>,
): Promise<T> => {
  const admin = await connect({
    url: server,
    applicationName: 'test-admin',
    statementTimeoutMs: 60_000,
    connectTimeoutMs: 10_000,
  })
  try {
    await admin.query('set lock_timeout = 0')
    return await work(admin)
  } finally {
    await admin.close()
  }
}
