import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import type { Pool } from './pool.ts'
import { runTransaction } from './run-transaction.ts'

const numbers = async (pool: Pool): Promise<unknown[]> =>
  (await pool.use((one) => one.query('select n from public.probe order by n'))).map(({ n }) => n)

const openProbe = async () => {
  const database = await openTestDatabase({ empty: true })
  await database.pool.use((one) => one.query('create table public.probe (n int unique)'))
  return database
}

t.test(
  'what a transaction did is there when it resolves, and not when its work throws',
  async (t) => {
    await using database = await openProbe()
    const { pool } = database
    const result = await runTransaction(pool, {}, async (inside) => {
      await inside.query('insert into public.probe values ($1), ($2)', [1, 2])
      return 'done'
    })
    t.equal(result, 'done')
    const failing = runTransaction(pool, {}, async (inside) => {
      await inside.query('insert into public.probe values ($1)', [3])
      throw new Error('no')
    })
    await t.rejects(failing, { message: 'no' })
    t.strictSame(await numbers(pool), [1, 2])
  },
)

t.test('a transaction in which a statement failed does not pass for committed', async (t) => {
  await using database = await openProbe()
  const { pool } = database
  const swallowing = runTransaction(pool, {}, async (inside) => {
    await inside.query('insert into public.probe values (1)')
    await inside.query('insert into public.probe values (1)').catch(() => {})
    return 'done'
  })
  await t.rejects(swallowing, { name: 'DatabaseError', code: '25P02' })
  t.strictSame(await numbers(pool), [])
})

t.test('a savepoint mends a failed statement', async (t) => {
  await using database = await openProbe()
  await runTransaction(database.pool, {}, async (inside) => {
    await inside.query('insert into public.probe values (1)')
    await inside.query('savepoint before')
    await inside.query('insert into public.probe values (1)').catch(() => {})
    await inside.query('rollback to savepoint before')
  })
  t.strictSame(await numbers(database.pool), [1])
})

t.test('limits and isolation are those asked for, and end with the transaction', async (t) => {
  await using database = await openTestDatabase({ empty: true, max: 1 })
  const read = `select current_setting('transaction_isolation') as isolation,
    current_setting('transaction_read_only') as readonly,
    current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement`
  const options = {
    isolation: 'repeatable read',
    readOnly: true,
    lockTimeoutMs: 250,
    statementTimeoutMs: 1500,
  } as const
  t.strictSame(await runTransaction(database.pool, options, (inside) => inside.query(read)), [
    { isolation: 'repeatable read', readonly: 'on', lock: '250ms', statement: '1500ms' },
  ])
  t.strictSame(await database.pool.use((one) => one.query(read)), [
    { isolation: 'read committed', readonly: 'off', lock: '5s', statement: '30s' },
  ])
})

t.test(
  'who waits too long for a lock gets 55P03, and nothing of its transaction stays',
  async (t) => {
    await using database = await openProbe()
    const { pool } = database
    await runTransaction(pool, {}, async (holder) => {
      await holder.query('lock table public.probe in access exclusive mode')
      const waiting = runTransaction(pool, { lockTimeoutMs: 50 }, (inside) =>
        inside.query('insert into public.probe values (1)'),
      )
      await t.rejects(waiting, { code: '55P03' })
    })
    t.strictSame(await numbers(pool), [])
  },
)

t.test('a connection is of no use to who has given it back', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const kept = await database.pool.use((connection) => Promise.resolve(connection))
  await t.rejects(kept.query('select 1'), /given back/)
})
