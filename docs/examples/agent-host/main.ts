import { parseArgs } from 'node:util'
import { runHost } from './host.ts'
import { openStore } from './store.ts'
import { tellingFetch } from './telling-fetch.ts'
import { openTools } from './tools.ts'

const { values: given } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:4600' },
    /** Whose sessions' work it takes up; left out: of all sessions. */
    project: { type: 'string' },
    owner: { type: 'string', default: `host-${process.pid}` },
    /** Where its tools read and write. */
    folder: { type: 'string', default: '.' },
    /** How long the store waits for a heartbeat before another host may take its turns. */
    'ttl-ms': { type: 'string', default: '10000' },
  },
})

const leaving = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The second time at once, whatever it is waiting for.
  process.on(signal, () => (leaving.signal.aborted ? process.exit(1) : leaving.abort()))
}
const say = (text: string): void => console.log(`${given.owner}: ${text}`)
say(`works for ${given.url}`)
await runHost({
  store: openStore(given.url, tellingFetch(say)),
  tools: await openTools(given.folder),
  owner: { ownerId: given.owner, lifetime: 'lease', ttlMs: Number(given['ttl-ms']) },
  ...(given.project !== undefined && { project: given.project }),
  leaving: leaving.signal,
  say,
})
