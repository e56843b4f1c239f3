import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { payload } from '../payload.ts'
import { loadPeer } from './load-peer.ts'
import { connections, type Peer } from './peer.ts'

type EvtStore = {
  readonly migrate: (options: unknown) => Promise<void>
  readonly createProvider: (options: unknown) => {
    createEvents(stream: string, id: string, version: number, events: readonly unknown[]): unknown[]
    append(stream: string, id: string, version: number, events: unknown[]): Promise<unknown>
  }
}

/** Its provider for Postgres.js: an INSERT in a transaction, the version kept by a unique index. */
export const openEvtStore = async (url: string): Promise<Peer> => {
  const { migrate, createProvider } = await loadPeer<EvtStore>('evtstore/provider/postgres')
  const sql = postgres(url, { max: connections, onnotice: () => {} })
  const tables = { events: 'events', bookmarks: 'bookmarks' }
  await migrate({ sql, ...tables })
  const provider = createProvider({ sql, ...tables })
  return {
    name: 'evtstore',
    stream: () => {
      const id = randomUUID()
      let version = 0
      return async () => {
        version += 1
        const event = { type: 'session.renamed', ...payload }
        const events = provider.createEvents('session', id, version, [event])
        await provider.append('session', id, version, events)
      }
    },
    [Symbol.asyncDispose]: () => sql.end(),
  }
}
