import { rmSync } from 'node:fs'
import { processStart } from '../../services/database/embedded/process-alive.ts'

/** Ends a test's PostgreSQL and removes its files. Blocks until it is done, so that it works at exit. */
export const endServer = (pid: number, folders: readonly string[]): void => {
  const start = processStart(pid)
  if (start !== undefined) {
    // Nothing of a test's server is worth a clean shutdown.
    process.kill(pid, 'SIGQUIT')
    for (let waits = 0; waits < 500 && processStart(pid) === start; waits += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
