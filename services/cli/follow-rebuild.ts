import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../database/pool.ts'
import { readRebuild, type RebuildProgress } from '../projector/rebuild/read-rebuild.ts'

/**
 * Tells once a second how a rebuild stands, whoever works on it, until the signal is aborted. The rate
 * is that of all who fold, since this began to look.
 */
export const followRebuild = async (
  pool: Pool,
  generation: number,
  signal: AbortSignal,
  tell: (progress: RebuildProgress, eventsPerSecond: number) => void,
): Promise<void> => {
  let first: { readonly at: number; readonly events: number } | undefined
  while (!signal.aborted) {
    // What cannot be read now is told the next time; the work itself says what is wrong.
    const progress = await readRebuild(pool, 'transcript', generation).catch(() => undefined)
    if (progress) {
      const now = performance.now()
      first ??= { at: now, events: progress.events }
      const seconds = (now - first.at) / 1000
      tell(progress, seconds === 0 ? 0 : (progress.events - first.events) / seconds)
    }
    await sleep(1_000, undefined, { signal }).catch(() => {})
  }
}
