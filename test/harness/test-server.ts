import { spawn } from 'node:child_process'
import { mkdtempSync, chmodSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbedded, type Embedded } from '../../services/database/embedded/start-embedded.ts'
import { endServer } from './end-server.ts'

/** A PostgreSQL server for tests, in a temporary directory of its own. */
export type TestServer = {
  /** Of a superuser, in a database that tests only connect to. */
  readonly url: string
  readonly version: string
  readonly pid: number
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
  const folders = [...new Set([dataDir, embedded.dataDir])]
  const watcher = spawn(process.execPath, [watcherFile, String(embedded.pid), ...folders], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  watcher.unref()
  return {
    url: embedded.url,
    version: embedded.version,
    pid: embedded.pid,
    kill: () => endServer(embedded.pid, folders),
  }
}

/** Ends the server even if this process is killed: it waits for the end of its standard input. */
const watcherFile = fileURLToPath(new URL('end-with-parent.ts', import.meta.url))

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
  return server.url
}
