import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A `stemma serve` as a process of its own. */
export type ServerProcess = AsyncDisposable & {
  readonly url: string
  readonly child: ChildProcess
  /** What it has printed so far, both streams. */
  output(): string
  /** Sends a signal and waits for the end. Gives the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string>
}

const main = fileURLToPath(new URL('../../services/cli/main.ts', import.meta.url))
const startsWithinMs = 30_000

/** Starts a server on any free port and resolves when it listens. */
export const startServer = async (
  environment: Readonly<Record<string, string>>,
  options: { readonly uid?: number; readonly gid?: number; readonly cwd?: string } = {},
): Promise<ServerProcess> => {
  const child = spawn(process.execPath, [main, 'serve'], {
    env: { ...process.env, STEMMA_PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  })
  let printed = ''
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`it did not listen in time:\n${printed}`)),
      startsWithinMs,
    )
    const hear = (chunk: Buffer): void => {
      printed += chunk.toString()
      const found = /stemma listening on (http:\S+)/.exec(printed)
      if (!found) return
      clearTimeout(timer)
      resolve(found[1]!)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void exited.then((how) => {
      clearTimeout(timer)
      reject(new Error(`it ended with ${how}:\n${printed}`))
    })
  }).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  const end = (signal: NodeJS.Signals): Promise<number | string> => {
    child.kill(signal)
    return exited
  }
  return {
    url,
    child,
    output: () => printed,
    end,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end('SIGKILL')
    },
  }
}
