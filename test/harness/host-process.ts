import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A host as a process of its own. */
export type HostProcess = AsyncDisposable & {
  readonly child: ChildProcess
  /** What it has printed so far, both streams. */
  output(): string
  /** Resolves when it has printed that; fails after half a minute. */
  until(is: RegExp): Promise<void>
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
}

export type HostOptions = {
  readonly url: string
  readonly sessionId: string
  readonly ownerId: string
  readonly folder: string
  readonly lifetime: 'lease' | 'process'
  /** Where Node keeps what it compiled: many hosts of one test start faster. */
  readonly compiled: string
  /** Where it stops itself and by which signal (host-trial.ts). */
  readonly stopAt?: string
}

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const trialled = path('host-child.ts')
const program = path('../../docs/examples/agent-host/main.ts')

/** Starts the example's host so that it leaves when its session's turn has ended. */
export const startHost = (options: HostOptions): HostProcess & { readonly ownerId: string } => ({
  ownerId: options.ownerId,
  ...start([trialled, JSON.stringify(options)], { NODE_COMPILE_CACHE: options.compiled }),
})

/** Starts the example's program as it is. */
export const startProgram = (argv: readonly string[]): HostProcess => start([program, ...argv], {})

/** Ends a process when whoever started it has ended, however that came about. */
const endsWithParent =
  'data:text/javascript,process.stdin.on("end",()=>process.exit(1)).resume().unref()'

const start = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): HostProcess => {
  const child = spawn(process.execPath, ['--import', endsWithParent, ...argv], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  }
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  return {
    child,
    output: () => printed,
    until: async (is) => {
      for (let tries = 0; !is.test(printed); tries += 1) {
        if (tries === 600) throw new Error(`it did not print ${is.source}:\n${printed}`)
        await sleep(50)
      }
    },
    ended,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}
