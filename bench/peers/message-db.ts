import { readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { payloadText } from '../payload.ts'
import { peerFile } from './load-peer.ts'
import { connections, type Peer } from './peer.ts'

/** In the order of its own install scripts; roles, views and privileges are left out. */
const files = [
  'schema/message-store',
  'extensions/pgcrypto',
  'tables/messages',
  'types/message',
  'functions/hash-64',
  'functions/category',
  'functions/acquire-lock',
  'functions/stream-version',
  'functions/write-message',
  'indexes/messages-id',
  'indexes/messages-stream',
  'indexes/messages-category',
]

/**
 * `write_message` with the expected version through Postgres.js. It locks a category while it
 * writes: sessions would be streams of one category (`one`); a category for each stream (`each`)
 * writes side by side, and then nothing reads them together.
 */
export const openMessageDb = async (url: string, categories: 'one' | 'each'): Promise<Peer> => {
  const install = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} })
  for (const file of files) {
    const path = peerFile(`@eventide/message-db/database/${file}.sql`)
    await install.unsafe(readFileSync(path, 'utf8')).simple()
  }
  await install.end()
  const sql = postgres(url, {
    max: connections,
    fetch_types: false,
    connection: { search_path: 'message_store, public' },
  })
  return {
    name: categories === 'one' ? 'message-db' : 'message-db, a category each',
    stream: () => {
      const id = randomUUID()
      const name = categories === 'one' ? `session-${id}` : `session${id.replaceAll('-', '')}-1`
      let version = -1
      return async () => {
        await sql`select write_message(${randomUUID()}, ${name}, 'session.renamed',
          ${payloadText}::text::jsonb, '{}', ${version})`
        version += 1
      }
    },
    [Symbol.asyncDispose]: () => sql.end(),
  }
}
