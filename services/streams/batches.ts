import type { Pool } from '../database/pool.ts'
import { readFeeds, type FeedEvent, type Wanted } from './read-feeds.ts'

type Asked = Wanted & {
  readonly resolve: (page: readonly FeedEvent[]) => void
  readonly reject: (error: unknown) => void
}

/** Sessions that one statement reads. */
const mostAtOnce = 128

/** Reads pages of many sessions; those that are asked for while a read is under way go together. */
export const createBatches = (pool: Pool) => {
  let asked: Asked[] = []
  let running = 0

  const pump = async (): Promise<void> => {
    // Two, so that one that takes long does not hold up all others.
    if (running >= 2) return
    running += 1
    try {
      while (asked.length > 0) {
        const batch = asked.slice(0, mostAtOnce)
        asked = asked.slice(mostAtOnce)
        await pool
          .use((connection) => readFeeds(connection, batch))
          .then(
            (pages) => batch.forEach(({ resolve }, index) => resolve(pages[index]!)),
            (error: unknown) => batch.forEach(({ reject }) => reject(error)),
          )
      }
    } finally {
      running -= 1
    }
  }

  return {
    read: (wanted: Wanted): Promise<readonly FeedEvent[]> =>
      new Promise((resolve, reject) => {
        asked.push({ ...wanted, resolve, reject })
        setImmediate(() => void pump())
      }),
  }
}
