import type { Bench } from '../bench.ts'
import { startChild } from '../child.ts'

const serveFile = new URL('../http/serve-process.ts', import.meta.url)

const kinds = [
  ['stemma', 'stemma'],
  ['insert', 'one INSERT a request'],
  ['nothing', 'validates and answers'],
] as const

/** The same route three times: on Stemma's log, on one raw INSERT per request, on nothing. */
const routeRow = (name: string, about: string, loadFile: URL): Bench => ({
  name,
  about,
  open: async (world) => {
    const url = await world.database('migrated')
    const pairs = await Promise.all(
      kinds.map(async ([kind, title]) => {
        const server = await startChild(serveFile, [url, kind])
        const load = await startChild(loadFile, [
          String(server.ready),
          '64',
          kind === 'stemma' ? 'create' : '',
        ])
        return { name: title, server, load }
      }),
    )
    return {
      contenders: pairs.map(({ name: title, load }) => ({
        name: title,
        round: async (milliseconds) => Number(await load.ask(milliseconds)),
      })),
      claims: [
        { ours: 'stemma', against: 'one INSERT a request', must: 1.3 },
        { ours: 'stemma', against: 'validates and answers', must: 0.4 },
      ],
      [Symbol.asyncDispose]: async () => {
        for (const { load, server } of pairs) {
          await load[Symbol.asyncDispose]()
          await server[Symbol.asyncDispose]()
        }
      },
    }
  },
})

export const httpRow = routeRow(
  'http',
  'append through HTTP, 64 clients with a session each',
  new URL('../http/load-process.ts', import.meta.url),
)

export const socketRow = routeRow(
  'socket',
  'append through one socket each, 64 clients with a session each',
  new URL('../socket/load-process.ts', import.meta.url),
)
