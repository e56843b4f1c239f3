import { newId } from '../../services/log/new-id.ts'
import type { Bench, Contender } from '../bench.ts'
import { startChild } from '../child.ts'
import { openStemma } from '../contenders/stemma.ts'

const serveFile = new URL('../http/serve-process.ts', import.meta.url)
const loadFile = new URL('../memory/load-process.ts', import.meta.url)

const subscribers = 10_000
/** Processes of the clients: none has more sockets than its limit of open files. */
const clients = 2
const mebibyte = 1024 * 1024

/** Each round with a server of its own: its resident memory with subscribers, less that without. */
export const memoryRow: Bench = {
  name: 'memory',
  about: '10,000 idle subscribers of 10,000 sessions: resident memory above the idle server',
  open: async (world) => {
    const url = await world.database('migrated')
    {
      await using stemma = await openStemma(url)
      await Promise.all(
        Array.from({ length: subscribers }, (_, n) =>
          stemma.log.execute({
            tenant: 1,
            sessionId: `ses_${n}`,
            kind: 'create',
            event: {
              eventId: newId('evt'),
              type: 'session.created',
              version: 1,
              data: {},
              meta: {},
            },
          }),
        ),
      )
    }
    const few = subscribing(url, '10 sockets', 10)
    const many = subscribing(url, '10,000 sockets', subscribers)
    return {
      contenders: [few, many],
      claims: [few, many].map(({ name }) => ({ ours: `${name} settled`, atMost: 200 })),
      [Symbol.asyncDispose]: async () => {},
    }
  },
}

const subscribing = (url: string, name: string, sockets: number): Contender => ({
  name,
  unit: ' MB',
  round: async () => {
    await using server = await startChild(serveFile, [url, 'stemma'], ['--expose-gc'])
    const port = server.ready as number
    await server.ask('settle')
    const idle = await residentOf(port)
    const loads = await Promise.all(
      Array.from({ length: clients }, (_, n) =>
        startChild(
          loadFile,
          [port, (n * subscribers) / clients, sockets / clients, subscribers / sockets].map(String),
        ),
      ),
    )
    await Promise.all(loads.map((load) => load.ask('open')))
    const opened = await residentOf(port)
    await server.ask('settle')
    const settled = await residentOf(port)
    for (const load of loads) await load[Symbol.asyncDispose]()
    return { 'when opened': opened - idle, settled: settled - idle }
  },
})

/** As the server says itself. */
const residentOf = async (port: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const found = /^process_resident_memory_bytes (\d+)$/m.exec(text)
  if (!found) throw new Error('the server does not say what memory it takes')
  return Number(found[1]) / mebibyte
}
