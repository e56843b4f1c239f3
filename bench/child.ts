import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A process of the bench's own, which answers one question after another. */
export type Child = AsyncDisposable & {
  /** What it said when it was ready. */
  readonly ready: unknown
  readonly ask: (question: unknown) => Promise<unknown>
}

/** Starts a file of the bench as a process, and resolves when it says that it is ready. */
export const startChild = async (
  file: URL,
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Child> => {
  const child = fork(fileURLToPath(file), [...args], {
    execArgv: [...nodeOptions],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ready = await answerOf(child)
  return {
    ready,
    ask: (question) => {
      const answer = answerOf(child)
      child.send(question as object)
      return answer
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await exited
    },
  }
}

const answerOf = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a child ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message)
    })
  })

/** In the child: says that it is ready, then answers what it is asked until the parent is gone. */
export const answer = (ready: unknown, reply: (question: never) => Promise<unknown>): void => {
  process.on('message', (question) => {
    void reply(question as never).then((text) => process.send!(text as object))
  })
  process.once('disconnect', () => process.exit(0))
  process.send!(ready)
}
