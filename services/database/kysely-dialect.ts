import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely'
import type { Connection } from './connection.ts'
import type { Pool } from './pool.ts'
import type { Tables } from './tables.ts'

/**
 * Kysely over the pool, for composed reads; each statement takes a connection of its own. Rows come
 * back, counts do not: a write through it needs `returning`. It opens no transactions.
 */
export const openKysely = <T = Tables>(pool: Pool): Kysely<T> => kyselyOver(borrowFrom(pool))

/** Kysely on one connection, so that composed reads share its transaction and snapshot. */
export const kyselyOn = <T = Tables>(connection: Connection): Kysely<T> =>
  kyselyOver(() => Promise.resolve({ connection, giveBack: () => {} }))

type Borrowed = { readonly connection: Connection; giveBack(): void }

const kyselyOver = <T>(borrow: () => Promise<Borrowed>): Kysely<T> =>
  new Kysely<T>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => createDriver(borrow),
      createIntrospector: (database) => new PostgresIntrospector(database),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })

/** The pool lends for the length of a piece of work: here, until Kysely gives back. */
const borrowFrom = (pool: Pool) => (): Promise<Borrowed> =>
  new Promise((resolve, reject) => {
    pool
      .use(
        (connection) =>
          new Promise<void>((giveBack) => resolve({ connection, giveBack: () => giveBack() })),
      )
      .catch(reject)
  })

const createDriver = (borrow: () => Promise<Borrowed>): Driver => {
  const lent = new WeakMap<DatabaseConnection, Borrowed>()
  return {
    init: async () => {},
    acquireConnection: async () => {
      const borrowed = await borrow()
      const connection = adapt(borrowed.connection)
      lent.set(connection, borrowed)
      return connection
    },
    releaseConnection: async (connection) => lent.get(connection)?.giveBack(),
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    destroy: async () => {},
  }
}

const refuse = (): Promise<never> =>
  Promise.reject(new Error('transactions go through runTransaction, with kyselyOn inside'))

const adapt = (connection: Connection): DatabaseConnection => ({
  executeQuery: async <R>(compiled: CompiledQuery): Promise<QueryResult<R>> => {
    const rows: unknown[] = await connection.query(compiled.sql, compiled.parameters)
    return { rows: rows as R[] }
  },
  streamQuery: () => {
    throw new Error('streams are not supported: read page by page')
  },
})
