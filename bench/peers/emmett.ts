import { randomUUID } from 'node:crypto'
import { payload } from '../payload.ts'
import { loadPeer } from './load-peer.ts'
import { connections, type Peer } from './peer.ts'
import { openPgPool } from './pg-pool.ts'

type Store = {
  appendToStream(
    stream: string,
    events: readonly unknown[],
    options: unknown,
  ): Promise<{ nextExpectedStreamVersion: bigint }>
  readonly schema: { migrate(): Promise<unknown> }
  close(): Promise<void>
}
type Emmett = { readonly getPostgreSQLEventStore: (url: string, options: unknown) => Store }

/** `appendToStream` with the expected version, on a pool of 64: as its documentation has it. */
export const openEmmett = async (url: string): Promise<Peer> => {
  const { getPostgreSQLEventStore } = await loadPeer<Emmett>('@event-driven-io/emmett-postgresql')
  const pool = await openPgPool(url, connections)
  const store = getPostgreSQLEventStore(url, { connectionOptions: { pool } })
  await store.schema.migrate()
  return {
    name: 'Emmett',
    stream: () => {
      const name = `session-${randomUUID()}`
      let expectedStreamVersion: bigint | 'STREAM_DOES_NOT_EXIST' = 'STREAM_DOES_NOT_EXIST'
      return async () => {
        const events = [{ type: 'session.renamed', data: payload }]
        const result = await store.appendToStream(name, events, { expectedStreamVersion })
        expectedStreamVersion = result.nextExpectedStreamVersion
      }
    },
    [Symbol.asyncDispose]: async () => {
      await store.close()
      await pool.end()
    },
  }
}
