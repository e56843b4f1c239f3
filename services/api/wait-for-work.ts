import { setTimeout as sleep } from 'node:timers/promises'
import { listWork, type WorkPage, type WorkQuery } from '../reads/list-work.ts'
import type { RouteDeps } from './deps.ts'

/** A lease lapses and an owner exits without an event: looked for this often. */
const longestPauseMs = 500
/** However fast the log grows. */
const shortestPauseMs = 100

/**
 * The work at a cursor, as soon as there is any, the time is over, or nobody waits any more. Who has
 * not listed yet does not wait.
 */
export const waitForWork = async (
  { pool, log }: Pick<RouteDeps, 'pool' | 'log'>,
  query: WorkQuery,
  wait: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<WorkPage> => {
  const signal = AbortSignal.any([wait.signal, AbortSignal.timeout(wait.waitMs)])
  const isFollowing = query.cursor.since !== undefined && query.cursor.walk === undefined
  for (let { cursor } = query; ;) {
    const page = await listWork(pool, { ...query, cursor })
    if (page.data.length > 0 || !isFollowing || signal.aborted) return page
    cursor = page.next
    await sleep(shortestPauseMs, undefined, { signal }).catch(() => {})
    await grown(log, cursor.since!.position, signal)
  }
}

/** Resolves when the log is complete beyond a position, or after a while. */
const grown = (
  { horizon }: RouteDeps['log'],
  position: number,
  signal: AbortSignal,
): Promise<void> =>
  new Promise((resolve) => {
    if (horizon.position > position || signal.aborted) return resolve()
    const done = (): void => {
      stop()
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const stop = horizon.onAdvance(done)
    const timer = setTimeout(done, longestPauseMs)
    signal.addEventListener('abort', done)
  })
