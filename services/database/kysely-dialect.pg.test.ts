import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { DatabaseError } from './connection.ts'
import { kyselyOn, openKysely } from './kysely-dialect.ts'
import { runTransaction } from './run-transaction.ts'

t.test('composed reads run on the pool and give rows as the connection does', async (t) => {
  await using database = await openTestDatabase()
  const db = openKysely(database.pool)
  const rows = await db
    .selectFrom('stemma.tenant')
    .selectAll()
    .where('name', 'in', ['default', 'other'])
    .execute()
  t.strictSame(rows, [{ tenant: 1, name: 'default' }])
  const counted = await Promise.all(
    Array.from({ length: 30 }, () =>
      db
        .selectFrom('stemma.event')
        .select((on) => on.fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow(),
    ),
  )
  t.ok(counted.every(({ n }) => n === 0))
  t.equal(database.pool.waiting, 0)
})

t.test('composed reads on one connection share its snapshot', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (inside) => {
    const db = kyselyOn(inside)
    const before = await db.selectFrom('stemma.tenant').select('name').execute()
    await pool.use((other) => other.query(`insert into stemma.tenant (name) values ('late')`))
    t.strictSame(await db.selectFrom('stemma.tenant').select('name').execute(), before)
  })
})

t.test(
  'a failing composed read rejects with the SQLSTATE and gives its connection back',
  async (t) => {
    await using database = await openTestDatabase({ empty: true, max: 1 })
    const db = openKysely(database.pool)
    await t.rejects(db.selectFrom('stemma.tenant').selectAll().execute(), { code: '42P01' })
    const failed = await db
      .selectFrom('stemma.tenant')
      .selectAll()
      .execute()
      .catch((e: unknown) => e)
    t.ok(failed instanceof DatabaseError)
    t.strictSame(await database.pool.use((one) => one.query('select 1 as x')), [{ x: 1 }])
  },
)

t.test('a transaction through Kysely is refused', async (t) => {
  await using database = await openTestDatabase()
  const db = openKysely(database.pool)
  await t.rejects(
    db.transaction().execute((inside) => inside.selectFrom('stemma.tenant').selectAll().execute()),
    /runTransaction/,
  )
})
