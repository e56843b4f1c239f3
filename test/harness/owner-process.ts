import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type Reply = { readonly status: number; readonly body: never }

/** `owner-program.ts` as a process of its own. */
export type OwnerProcess = AsyncDisposable & {
  readonly incarnation: number
  /** Lets it send a request, and gives the answer when it comes. */
  send(method: string, path: string, body?: unknown): Promise<Reply>
  signal(name: NodeJS.Signals): void
}

const program = fileURLToPath(new URL('./owner-program.ts', import.meta.url))

/** Starts an owner with a lease of `ttlMs`; resolves when it has registered. */
export const startOwner = async (
  url: string,
  ownerId: string,
  ttlMs: number,
): Promise<OwnerProcess> => {
  const child = spawn(process.execPath, [program, url, ownerId, String(ttlMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // What was sent to one that is killed is not answered.
  child.stdin.on('error', () => {})
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<never> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`owner ${ownerId} has ended`)
    return JSON.parse(value) as never
  }
  const { incarnation } = (await next()) as { incarnation: number }
  let before: Promise<unknown> = Promise.resolve()
  return {
    incarnation,
    send: (method, path, body) => {
      child.stdin.write(`${JSON.stringify({ method, path, body })}\n`)
      const reply = before.then(next)
      before = reply.catch(() => {})
      return reply
    },
    signal: (name) => void child.kill(name),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
