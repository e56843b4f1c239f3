import type { Bench, Contender } from '../bench.ts'
import { startChild, type Child } from '../child.ts'

const serveFile = new URL('../http/serve-process.ts', import.meta.url)
const loadFile = new URL('../subscriber/load-process.ts', import.meta.url)

/**
 * From the moment an append is sent to one server to the moment its event is at a subscriber of
 * another, both timed in the process of the clients. The floor is the least that must happen through
 * PostgreSQL: an INSERT committed on one plain connection, then a NOTIFY, heard on another.
 */
export const subscriberRow: Bench = {
  name: 'subscriber',
  about: 'append to a subscriber on another server, 200/s over 50 sessions: delay',
  open: async (world) => {
    const url = await world.database('migrated')
    const servers = await Promise.all([
      startChild(serveFile, [url, 'stemma']),
      startChild(serveFile, [url, 'stemma']),
    ])
    const ports = servers.map(({ ready }) => String(ready))
    const load = await startChild(loadFile, [url, ...ports])
    return {
      contenders: [delaysOf(load, 'floor'), delaysOf(load, 'subscriber')],
      claims: [
        { ours: 'subscriber p50', against: 'floor p50', atMost: 2 },
        { ours: 'subscriber p99', against: 'floor p99' },
      ],
      [Symbol.asyncDispose]: async () => {
        for (const child of [load, ...servers]) await child[Symbol.asyncDispose]()
      },
    }
  },
}

const delaysOf = (load: Child, name: string): Contender => ({
  name,
  unit: ' ms',
  round: async (milliseconds) =>
    (await load.ask({ name, milliseconds })) as Readonly<Record<string, number>>,
})
