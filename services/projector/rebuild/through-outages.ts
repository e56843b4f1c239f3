import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../../schema/errors.ts'
import { ConnectionLost } from '../../database/connection.ts'
import type { Pool } from '../../database/pool.ts'
import { readRebuild } from './read-rebuild.ts'
import { runRebuild, type RebuildOptions, type RebuildResult } from './run-rebuild.ts'

/** With the time that the pool itself waits, some minutes. */
const mostTries = 60
const pauseMs = 1_000

/**
 * Runs a rebuild, and goes on with it when the database was away for a while: as after a kill, it is
 * all in the database. Throws what is no outage, and an outage that does not end.
 */
export const rebuildThroughOutages = async (
  pool: Pool,
  options: RebuildOptions,
): Promise<RebuildResult> => {
  let generation: number | undefined
  const onOpened: RebuildOptions['onOpened'] = (opened) => {
    if (generation === undefined) options.onOpened?.(opened)
    generation = opened.generation
  }
  for (let tries = 1; ; tries += 1) {
    try {
      // If its end was stored and the answer lost, another one would begin here.
      const before = generation && (await readRebuild(pool, 'transcript', generation))
      if (before && before.endedAt !== null && before.outcome !== 'discarded') {
        return { generation: before.generation, outcome: before.outcome! }
      }
      return await runRebuild(pool, { ...options, onOpened })
    } catch (error) {
      if (!isOutage(error) || tries === mostTries || options.signal.aborted) throw error
      await sleep(pauseMs, undefined, { signal: options.signal }).catch(() => {})
    }
  }
}

const isOutage = (error: unknown): boolean =>
  error instanceof ConnectionLost || (error instanceof Refusal && error.code === 'overloaded')
