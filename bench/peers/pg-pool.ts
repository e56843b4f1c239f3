import { loadPeer } from './load-peer.ts'

type PgPool = { end(): Promise<void> }
type Pg = { default: { Pool: new (options: { connectionString: string; max: number }) => PgPool } }

/** The pool of node-postgres that two of the peers run on. */
export const openPgPool = async (url: string, max: number): Promise<PgPool> => {
  const { default: pg } = await loadPeer<Pg>('pg')
  return new pg.Pool({ connectionString: url, max })
}
