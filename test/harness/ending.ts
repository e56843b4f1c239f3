import { setTimeout as sleep } from 'node:timers/promises'

/** How a promise ends: `done`, or the name of its error. One that takes ten seconds `HANGS`. */
export const ending = (promise: Promise<unknown>): Promise<string> =>
  Promise.race([
    promise.then(
      () => 'done',
      (error: unknown) => (error instanceof Error ? error.name : String(error)),
    ),
    sleep(10_000, 'HANGS', { ref: false }),
  ])
