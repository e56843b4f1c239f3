import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { checkSchema, migrate } from './migrate.ts'
import { openPool } from './pool.ts'
import { parseMigration, readMigrations, type Migration } from './read-migrations.ts'

const build = readMigrations().at(-1)!.version

const step = (version: number, text: string): Migration =>
  parseMigration(`${String(version).padStart(4, '0')}_step.sql`, text)

t.test('twenty servers migrate an empty database at once and all of them start', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const servers = Array.from({ length: 20 }, () =>
    openPool({ url: database.url, max: 2, applicationName: 'stemma-test' }),
  )
  const outcomes = await Promise.all(servers.map((pool) => migrate(pool)))
  t.ok(outcomes.every(({ to }) => to === build))
  t.equal(outcomes.filter(({ from }) => from === 0).length, 1)
  const applied = await database.pool.use((one) =>
    one.query('select version from stemma.schema_version order by version'),
  )
  t.strictSame(
    applied.map(({ version }) => version),
    readMigrations().map(({ version }) => version),
  )
  await Promise.all(servers.map((pool) => pool[Symbol.asyncDispose]()))
})

t.test('migrating again changes nothing', async (t) => {
  await using database = await openTestDatabase()
  t.strictSame(await migrate(database.pool), { from: build, to: build })
})

t.test('an older build refuses to write to a newer schema and says why', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await pool.use((one) =>
    one.query(
      `insert into stemma.schema_version (version, name, oldest_writer) values ($1, 'contract', $1)`,
      [build + 5],
    ),
  )
  await t.rejects(migrate(pool), {
    name: 'Refusal',
    code: 'schema_newer',
    message: new RegExp(`version ${build + 5}.*${build + 5} and later.*this build is ${build}`),
  })
  t.strictSame(await checkSchema(pool), {
    version: build + 5,
    oldestWriter: build + 5,
    mayWrite: false,
  })
})

t.test('an older build goes on with a newer schema that still allows it', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await pool.use((one) =>
    one.query(
      `insert into stemma.schema_version (version, name, oldest_writer) values ($1, 'expand', 1)`,
      [build + 1],
    ),
  )
  t.strictSame(await migrate(pool), { from: build + 1, to: build + 1 })
  t.match(await checkSchema(pool), { version: build + 1, mayWrite: true })
})

t.test('a build says of an empty database that it must be migrated first', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  t.strictSame(await checkSchema(database.pool), { version: 0, oldestWriter: 0, mayWrite: false })
})

t.test('a migration that fails leaves the database at the one before', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const { pool } = database
  const first = step(1, '-- oldest writer: 1\ncreate table stemma.a (n int)')
  const broken = step(
    2,
    '-- oldest writer: 1\ncreate table stemma.b (n int)\n-- statement\nselect 1 / 0',
  )
  await t.rejects(migrate(pool, [first, broken]), { code: '22012' })
  t.match(await checkSchema(pool, [first]), { version: 1, mayWrite: true })
  const mended = step(2, '-- oldest writer: 1\ncreate table stemma.b (n int)')
  t.strictSame(await migrate(pool, [first, mended]), { from: 1, to: 2 })
})

t.test('an index is built concurrently while other servers wait to migrate', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const migrations = [
    step(
      1,
      '-- oldest writer: 1\ncreate table stemma.a as select n from generate_series(1, 5000) n',
    ),
    step(
      2,
      '-- oldest writer: 1\n-- no transaction\ncreate index concurrently a_n on stemma.a (n)',
    ),
  ]
  const outcomes = await Promise.all(
    Array.from({ length: 6 }, () => migrate(database.pool, migrations)),
  )
  t.ok(outcomes.every(({ to }) => to === 2))
})

t.test('a killed migration is taken up by the next one', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const { pool } = database
  const migrations = [
    step(1, '-- oldest writer: 1\ncreate table stemma.a (n int)'),
    step(
      2,
      '-- oldest writer: 1\ncreate table stemma.b (n int)\n-- statement\nselect pg_sleep(0.4)',
    ),
  ]
  const killed = migrate(pool, migrations)
  const outcome = killed.then(
    () => 'migrated',
    (error: Error) => error.name,
  )
  const kill = `select count(pg_terminate_backend(pid)) as n from pg_stat_activity
    where datname = current_database() and query like 'select pg_sleep%' and state = 'active'
      and pid <> pg_backend_pid()`
  for (let n = 0; n === 0;) n = (await pool.use((one) => one.query<{ n: number }>(kill)))[0]!.n
  t.equal(await outcome, 'ConnectionLost')
  t.strictSame(await migrate(pool, migrations), { from: 1, to: 2 })
})
