import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { CommandResult } from './run-command.ts'

const main = fileURLToPath(new URL('../../services/cli/main.ts', import.meta.url))

/** A `stemma` that goes on until it is interrupted. */
export type RunningCommand = AsyncDisposable & {
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when what was printed is so; fails when the command ends before. */
  readonly until: (is: (printed: CommandResult) => boolean) => Promise<void>
  readonly ended: Promise<CommandResult>
  /** Ctrl-C. */
  readonly interrupt: () => Promise<CommandResult>
}

const longestWaitMs = 60_000

export const startCommand = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): RunningCommand => {
  const child = spawn(process.execPath, [main, ...argv], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { stdout: '', stderr: '' }
  const looking = new Set<() => void>()
  const hear = (stream: 'stdout' | 'stderr') => (text: string) => {
    printed[stream] += text
    for (const look of looking) look()
  }
  child.stdout.setEncoding('utf8').on('data', hear('stdout'))
  child.stderr.setEncoding('utf8').on('data', hear('stderr'))
  const ended = new Promise<CommandResult>((resolve) => {
    child.once('close', (code) => resolve({ code, ...printed }))
  })
  return {
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    ended,
    until: async (is) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const look = (): void => {
        if (is({ code: null, ...printed })) resolve()
      }
      const fail = (why: string): void =>
        reject(new Error(`${why}:\n${printed.stdout}\n${printed.stderr}`))
      const timer = setTimeout(() => fail('it did not print that in time'), longestWaitMs)
      void ended.then(() => fail('it ended before'))
      looking.add(look)
      look()
      await promise.finally(() => {
        clearTimeout(timer)
        looking.delete(look)
      })
    },
    interrupt: () => {
      child.kill('SIGINT')
      return ended
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}
