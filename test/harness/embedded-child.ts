import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startEmbedded, type Embedded } from '../../services/database/embedded/start-embedded.ts'

/** What a child says of the server that it started or joined. */
export type Started = Omit<Embedded, 'stop'> & { readonly lines: readonly string[] }

/** A process of its own that has started, or joined, the server of a data directory. */
export type EmbeddedChild = {
  readonly process: ChildProcess
  /** Rejects with the error's text if it could not start. */
  readonly started: Promise<Started>
  stop(): Promise<string>
  kill(signal: NodeJS.Signals): Promise<void>
}

export const spawnEmbedded = (
  dataDir: string,
  user: { readonly uid?: number; readonly gid?: number } = {},
): EmbeddedChild => {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), dataDir], {
    ...user,
    cwd: '/',
    // A group of its own, which a test may interrupt as a terminal would.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => {
    const line: IteratorResult<string> = await lines.next()
    if (line.done) throw new Error('the child has ended')
    return line.value
  }
  const started = next().then((line) => {
    const said = JSON.parse(line) as Started | { error: string }
    if ('error' in said) throw new Error(said.error)
    return said
  })
  started.catch(() => {})
  return {
    process: child,
    started,
    stop: async () => {
      child.stdin.write('stop\n')
      const outcome = await next()
      await exited
      return outcome
    },
    kill: async (signal) => {
      process.kill(-child.pid!, signal)
      await exited
    },
  }
}

/** The child's side: starts, says so in a line, and stops when it is told to. */
const run = async (dataDir: string): Promise<void> => {
  const lines: string[] = []
  const server = await startEmbedded({ dataDir, log: (line) => lines.push(line) })
  console.log(JSON.stringify({ ...server, lines }))
  await once(process.stdin, 'data')
  console.log(await server.stop())
  process.exit(0)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  run(process.argv[2]!).catch((error: unknown) => {
    console.log(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }))
    process.exit(1)
  })
}
