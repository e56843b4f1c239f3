import { startEmbedded } from '../database/embedded/start-embedded.ts'
import { openPool, type Pool } from '../database/pool.ts'
import type { Settings } from '../settings.ts'

/**
 * For commands that open the database themselves: the one that DATABASE_URL names, or the embedded
 * one of the data directory, which is started if it does not run, and stopped if nobody else uses it.
 */
export const withDatabase = async <T>(
  settings: Settings,
  options: {
    readonly max: number
    readonly applicationName: string
    readonly say: (line: string) => void
  },
  work: (pool: Pool) => Promise<T>,
): Promise<T> => {
  const embedded =
    settings.databaseUrl === undefined
      ? await startEmbedded({ dataDir: settings.dataDir, log: options.say })
      : undefined
  try {
    await using pool = openPool({
      url: settings.databaseUrl ?? embedded!.url,
      max: options.max,
      applicationName: options.applicationName,
      acquireTimeoutMs: settings.acquireTimeoutMs,
      statementTimeoutMs: settings.statementTimeoutMs,
    })
    return await work(pool)
  } finally {
    await embedded?.stop()
  }
}
