import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../database/pool.ts'
import { createLane } from '../lane.ts'
import type { Log } from '../log/open-log.ts'
import { readAll, type AllPage } from '../log/read-all.ts'
import { envelopeText } from '../log/read-events.ts'
import type { Sink } from './sink.ts'

export type FollowAll = {
  readonly tenant: number
  readonly afterPosition: number
  readonly types?: readonly string[]
  /** The log that the position is of. */
  readonly log: string
  /** A position as the outside sees it. */
  readonly cursorOf: (position: number) => string
}

/** Events may be large, and this page is read whole. */
const pageEvents = 16
/** All followers of this process together: appends use the same connections. */
const reads = createLane(4)
const shortestPauseMs = 100
const longestPauseMs = 2_000

/**
 * Gives a sink the events of all sessions of a tenant after a position, each once and in the order
 * that every reader sees, until the signal is aborted or the log is another one.
 */
export const followAll = async (
  deps: { readonly pool: Pool; readonly log: Log },
  from: FollowAll,
  sink: Sink,
  signal: AbortSignal,
): Promise<void> => {
  const { pool, log } = deps
  const { tenant, types, cursorOf } = from
  let position = from.afterPosition
  let caughtUp = false
  while (!signal.aborted) {
    const atEnd = await sink.turn(async () => {
      const page = await readPatiently(
        pool,
        { tenant, afterPosition: position, ...(types && { types }) },
        signal,
      )
      if (!page || pool.incarnation !== from.log) return true
      for (const row of page.events) {
        sink.event(envelopeText(row.sessionId, row), {
          seq: row.seq,
          cursor: cursorOf(row.position),
        })
      }
      position = page.position
      return page.atEnd
    })
    if (signal.aborted) return
    if (pool.incarnation !== undefined && pool.incarnation !== from.log) {
      return sink.reset({ reason: 'other_log', oldestSeq: 1 })
    }
    if (!atEnd) continue
    if (!caughtUp) {
      caughtUp = true
      sink.caughtUp({ cursor: cursorOf(position), log: from.log })
    }
    await advanced(log, position, signal)
  }
}

/** Resolves when the horizon is above the position, or is that of another log. */
const advanced = ({ horizon }: Log, position: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (horizon.position > position || signal.aborted) return resolve()
    const done = (): void => {
      stop()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const stop = horizon.onAdvance(done)
    signal.addEventListener('abort', done)
  })

const readPatiently = async (
  pool: Pool,
  range: {
    readonly tenant: number
    readonly afterPosition: number
    readonly types?: readonly string[]
  },
  signal: AbortSignal,
): Promise<AllPage | undefined> => {
  for (let pause = shortestPauseMs; !signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
    try {
      return await reads(() => readAll(pool, { ...range, limit: pageEvents }))
    } catch {
      // An outage: the poller has reported it.
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}
