import { setTimeout as sleep } from 'node:timers/promises'
import { processStart } from '../database/embedded/process-alive.ts'
import { startEmbedded, type Embedded } from '../database/embedded/start-embedded.ts'

/** An embedded PostgreSQL that is started again when its process ends under us. */
export type KeptEmbedded = Pick<Embedded, 'url' | 'port' | 'dataDir' | 'version' | 'joined'> & {
  stop(): Promise<'stopped' | 'left running'>
}

const lookEveryMs = 1_000

/**
 * Starts the server, or joins it, and looks after its process: what was killed is started again on
 * the same data, port and password, and the pool finds it there. Several servers may do so at once;
 * one starts it, the others join.
 */
export const keepEmbedded = async (options: {
  readonly dataDir: string
  readonly log: (line: string) => void
}): Promise<KeptEmbedded> => {
  const { log } = options
  let current = await startEmbedded(options)
  const { url, port, dataDir, version, joined } = current
  const stopping = new AbortController()

  const startAgain = async (): Promise<void> => {
    try {
      const next = await startEmbedded({ dataDir: options.dataDir, log: () => {} })
      current = next
      log(
        next.port === port
          ? 'PostgreSQL had ended, and runs again'
          : `PostgreSQL had ended, and runs again on another port, ${next.port}: start this server again`,
      )
    } catch (error) {
      log(
        `PostgreSQL has ended and does not start: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }

  const looking = (async () => {
    for (;;) {
      await sleep(lookEveryMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      if (processStart(current.pid) === undefined) await startAgain()
    }
  })()

  return {
    url,
    port,
    dataDir,
    version,
    joined,
    stop: async () => {
      stopping.abort()
      await looking
      return current.stop()
    },
  }
}
