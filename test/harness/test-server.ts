import { mkdtempSync, chmodSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded, type Embedded } from '../../services/database/embedded/start-embedded.ts'
import { processStart } from '../../services/database/embedded/process-alive.ts'

/** A PostgreSQL server for tests, in a temporary directory of its own. */
export type TestServer = {
  /** Of a superuser, in a database that tests only connect to. */
  readonly url: string
  readonly version: string
  readonly pid: number
  readonly log: string
  /** Ends the server by its process number, and removes its files. May be called at exit: it blocks. */
  kill(): void
}

/** Folder with `postgres` and `initdb` to test against, such as Debian's; else the packaged ones. */
const otherBin = process.env['STEMMA_TEST_POSTGRES_BIN']

export const startTestServer = async (): Promise<TestServer> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stemma-test-'))
  // The server may run as another user, who must be able to pass.
  chmodSync(dataDir, 0o755)
  let embedded: Embedded
  try {
    embedded = await startEmbedded({
      dataDir,
      log: () => {},
      ...(otherBin && { bin: otherBin }),
    })
  } catch (error) {
    rmSync(dataDir, { recursive: true, force: true })
    throw error
  }
  return {
    url: embedded.url,
    version: embedded.version,
    pid: embedded.pid,
    log: join(embedded.dataDir, 'postgres.log'),
    kill: () => {
      end(embedded.pid)
      for (const dir of new Set([dataDir, embedded.dataDir])) {
        rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
      }
    },
  }
}

/** The url of the server that `test/run.ts` started, or of one of this process alone. */
export const testServerUrl = (): Promise<string> => {
  const given = process.env['STEMMA_TEST_SERVER']
  return given ? Promise.resolve(given) : (own ??= startOwn())
}

let own: Promise<string> | undefined

/** For a test file that runs without test/run.ts: the server ends with the process. */
const startOwn = async (): Promise<string> => {
  const server = await startTestServer()
  process.once('exit', () => server.kill())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  return server.url
}

/** Nothing of a test's server is worth a clean shutdown. */
const end = (pid: number): void => {
  const start = processStart(pid)
  if (start === undefined) return
  process.kill(pid, 'SIGQUIT')
  for (let waits = 0; waits < 500 && processStart(pid) === start; waits += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  }
}
