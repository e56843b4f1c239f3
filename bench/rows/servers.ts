import type { Bench, Contender } from '../bench.ts'
import { startChild, type Child } from '../child.ts'

const processFile = new URL('../servers/append-process.ts', import.meta.url)
const sessions = 64

/** 64 sessions in all, shared out among server processes on one database: the sum of their rates. */
export const serversRow: Bench = {
  name: 'servers',
  about: 'append, 64 sessions, 1, 2 and 4 server processes (sum)',
  open: async (world) => {
    const url = await world.database('migrated')
    const counts = [1, 2, 4]
    const groups = await Promise.all(
      counts.map((count) =>
        Promise.all(
          Array.from({ length: count }, () =>
            startChild(processFile, [url, String(sessions / count)]),
          ),
        ),
      ),
    )
    return {
      contenders: groups.map(sumOf),
      claims: [
        { ours: nameOf(2), against: nameOf(1), must: 0.85 },
        { ours: nameOf(4), against: nameOf(1), must: 0.5 },
      ],
      [Symbol.asyncDispose]: async () => {
        await Promise.all(groups.flat().map((child) => child[Symbol.asyncDispose]()))
      },
    }
  },
}

const nameOf = (count: number): string => (count === 1 ? '1 server' : `${count} servers`)

const sumOf = (servers: readonly Child[]): Contender => ({
  name: nameOf(servers.length),
  round: async (milliseconds) => {
    const rates = await Promise.all(servers.map((server) => server.ask(milliseconds)))
    return rates.reduce<number>((sum, rate) => sum + Number(rate), 0)
  },
})
