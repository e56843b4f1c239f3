import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { connect } from './connection.ts'

const settings = (url: string) => ({
  url,
  applicationName: 'stemma-test',
  statementTimeoutMs: 5_000,
  connectTimeoutMs: 5_000,
})

t.test('values arrive as numbers, booleans, null, and text that is not changed', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const [row] = await database.pool.use((connection) =>
    connection.query(
      `select 9007199254740991::int8 as big, 2::int as n, 1.5::float8 as f, 0.10::numeric as exact,
         true as yes, null as nothing, 'x' as t, array[1,2] as list,
         '{"b":1, "a":1.0}'::json as j, '{"a": 1}'::jsonb as jb,
         '2026-11-30 23:45:01+00'::timestamptz as at0, '2026-11-30 23:45:01.5+00'::timestamptz as at1,
         '2026-11-30 23:45:01.123456+00'::timestamptz as at6, 'infinity'::timestamptz as never`,
      [],
    ),
  )
  t.strictSame(row, {
    big: 9007199254740991,
    n: 2,
    f: 1.5,
    exact: '0.10',
    yes: true,
    nothing: null,
    t: 'x',
    list: '{1,2}',
    j: '{"b":1, "a":1.0}',
    jb: '{"a": 1}',
    at0: '2026-11-30T23:45:01.000Z',
    at1: '2026-11-30T23:45:01.500Z',
    at6: '2026-11-30T23:45:01.123456Z',
    never: 'infinity',
  })
})

t.test('parameters arrive as they were given', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const json = '{"nul":"\\u0000","lone":"\\ud800","n":1.0}'
  const [row] = await database.pool.use((connection) =>
    connection.query(
      `select $1::text::json as viatext, $2::json as direct, $3::int8 as big, $4::boolean as no,
         $5::text::int[] as list, $6::timestamptz as at, $7::text as nothing`,
      [json, json, 9007199254740991, false, '{1,2}', '2026-01-01T00:00:00.123456Z', null],
    ),
  )
  t.strictSame(row, {
    viatext: json,
    direct: json,
    big: 9007199254740991,
    no: false,
    list: '{1,2}',
    at: '2026-01-01T00:00:00.123456Z',
    nothing: null,
  })
})

t.test('an int8 that is no safe integer is refused, and the connection goes on', async (t) => {
  await using database = await openTestDatabase({ empty: true, max: 1 })
  await database.pool.use(async (connection) => {
    await t.rejects(connection.query('select 9007199254740993::int8 as n', []), {
      name: 'UnsafeInteger',
    })
    t.strictSame(await connection.query('select 1 as n', []), [{ n: 1 }])
  })
})

t.test('an undefined parameter rejects its own statement and no other', async (t) => {
  await using database = await openTestDatabase({ empty: true, max: 1 })
  await database.pool.use(async (connection) => {
    const slow = connection.query('select 1 as n, pg_sleep(0.1)::text as s', [])
    await t.rejects(connection.query('select $1::text', [undefined]), { name: 'TypeError' })
    t.strictSame(await slow, [{ n: 1, s: '' }])
  })
})

t.test('a refused statement says its SQLSTATE and constraint, and not its values', async (t) => {
  await using database = await openTestDatabase()
  const twice = database.pool.use((connection) =>
    connection.query(`insert into stemma.tenant (name) values ($1)`, ['default']),
  )
  await t.rejects(twice, { name: 'DatabaseError', code: '23505', table: 'tenant' })
  await t.rejects(
    database.pool.use((connection) => connection.query('select 1 / 0')),
    { code: '22012' },
  )
})

t.test('a new connection has limits, UTC and no JIT', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const rows = await database.pool.use((connection) =>
    connection.query(
      `select name, setting from pg_settings where name in ('jit', 'TimeZone', 'lock_timeout',
         'statement_timeout', 'idle_in_transaction_session_timeout', 'application_name')
       order by name collate "C"`,
    ),
  )
  t.strictSame(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
    TimeZone: 'UTC',
    application_name: 'stemma-test',
    idle_in_transaction_session_timeout: '10000',
    jit: 'off',
    lock_timeout: '5000',
    statement_timeout: '30000',
  })
})

t.test('a repeated statement is parsed once per connection', async (t) => {
  await using database = await openTestDatabase({ empty: true, max: 1 })
  await database.pool.use(async (connection) => {
    for (let n = 0; n < 5; n += 1) await connection.query('select $1::int as repeated', [n])
    const [row] = await connection.query<{ count: number }>(
      `select count(*) from pg_prepared_statements where statement like '%repeated'`,
    )
    t.equal(row!.count, 1)
  })
})

t.test('databases of one server are different logs', async (t) => {
  await using one = await openTestDatabase({ empty: true })
  await using other = await openTestDatabase({ empty: true })
  const first = await connect(settings(one.url))
  const again = await connect(settings(one.url))
  const second = await connect(settings(other.url))
  t.match(first.incarnation, /^\d+\.\d+\.\d+$/)
  t.equal(first.incarnation, again.incarnation)
  t.not(first.incarnation, second.incarnation)
  await Promise.all([first.close(), again.close(), second.close()])
  t.ok(first.lost)
})

t.test('a role that may not read the control file still gets an incarnation', async (t) => {
  await using database = await openTestDatabase()
  await database.pool.use(async (connection) => {
    await connection.query(`create role "${database.name}_r" login password 'x'`)
    await connection.query('revoke execute on function pg_control_system() from public')
  })
  const url = new URL(database.url)
  url.username = `${database.name}_r`
  url.password = 'x'
  const connection = await connect(settings(url.href))
  t.match(connection.incarnation, /^database\.\d+/)
  await connection.close()
  await database.pool.use((admin) => admin.query(`drop role "${database.name}_r"`))
})

t.test(
  'a wrong password and a database that is not there are told by their SQLSTATE',
  async (t) => {
    await using database = await openTestDatabase({ empty: true })
    const url = new URL(database.url)
    url.pathname = '/nowhere'
    await t.rejects(connect(settings(url.href)), { name: 'DatabaseError', code: '3D000' })
    url.password = 'wrong'
    await t.rejects(connect(settings(url.href)), { name: 'DatabaseError', code: '28P01' })
  },
)
