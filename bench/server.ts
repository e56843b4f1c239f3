import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbedded } from '../services/database/embedded/start-embedded.ts'
import { openPool } from '../services/database/pool.ts'
import { endServer } from '../test/harness/end-server.ts'

/** Every contender keeps connections of its own between its turns. */
const connections = 600

const watcherFile = fileURLToPath(new URL('../test/harness/end-with-parent.ts', import.meta.url))

export type Server = Disposable & { readonly url: string; readonly version: string }

/**
 * The embedded server, as Stemma starts it but for the number of connections. It ends with this
 * process, however that ends.
 */
export const startServer = async (): Promise<Server> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stemma-bench-'))
  chmodSync(dataDir, 0o755)
  const first = await startEmbedded({ dataDir, log: () => {} })
  {
    await using pool = openPool({ url: first.url, max: 1, applicationName: 'bench' })
    await pool.use((c) => c.query(`alter system set max_connections = ${connections}`))
  }
  await first.stop()
  const server = await startEmbedded({ dataDir, log: () => {} })
  const folders = [...new Set([dataDir, server.dataDir])]
  const watcher = spawn(process.execPath, [watcherFile, String(server.pid), ...folders], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  watcher.unref()
  return {
    url: server.url,
    version: server.version,
    [Symbol.dispose]: () => endServer(server.pid, folders),
  }
}
