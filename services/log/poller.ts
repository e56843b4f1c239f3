import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../database/pool.ts'
import { readHorizon } from './read-horizon.ts'

/** How far the log is complete, as this server's poller saw it last. */
export type Horizon = {
  /** Position; 0 before the first success. */
  readonly position: number
  /** `Date.now()` of the last success: its age is the health of the server. 0 before the first. */
  readonly lastSuccessAt: number
  /** Called with the new position each time it has grown. */
  onAdvance(listener: (position: number) => void): () => void
  /** Resolves at the first success. */
  readonly ready: Promise<void>
  /** Looks at once, because something was appended here. */
  ring(): void
}

const longestPauseMs = 250
/** Rings that come close together are one look. */
const shortestPauseMs = 20

/**
 * One poller per server: the ring of last resort. A doorbell may be lost with its process; what was
 * committed is seen here at most `longestPauseMs` later.
 */
export const startPoller = (
  pool: Pool,
  report: (problem: unknown) => void,
): Horizon & AsyncDisposable => {
  const listeners = new Set<(position: number) => void>()
  const stopping = new AbortController()
  let position = 0
  let lastSuccessAt = 0
  let wake: (() => void) | undefined
  let rung = false
  let incarnations = 0
  let failing = false
  let begun = (): void => {}
  const ready = new Promise<void>((resolve) => (begun = resolve))

  const look = async (): Promise<void> => {
    // What is appended from here on may be missed by this look, so its ring must be heard.
    rung = false
    try {
      const { seen, of } = await pool.use(async (connection) => ({
        of: incarnations,
        seen: await readHorizon(connection),
      }))
      // A position of the log before means nothing in this one.
      if (of !== incarnations) return
      lastSuccessAt = Date.now()
      begun()
      failing = false
      if (seen > position) {
        position = seen
        for (const listener of listeners) listener(seen)
      }
    } catch (error) {
      // Said once per outage; the age of the last success says the rest.
      if (!failing && !stopping.signal.aborted) report(error)
      failing = true
    }
  }

  const pause = async (): Promise<void> => {
    if (!rung) {
      const woken = new Promise<void>((resolve) => (wake = resolve))
      const pausing = new AbortController()
      const options = { signal: AbortSignal.any([pausing.signal, stopping.signal]) }
      await Promise.race([woken, sleep(longestPauseMs, undefined, options).catch(() => {})])
      pausing.abort()
      wake = undefined
    }
    await sleep(shortestPauseMs)
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      await look()
      await pause()
    }
  })()

  pool.onIncarnation(() => {
    incarnations += 1
    position = 0
  })

  return {
    get position() {
      return position
    },
    ready,
    get lastSuccessAt() {
      return lastSuccessAt
    },
    onAdvance: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ring: () => {
      // A look costs about a millisecond of the server: only where somebody waits for it.
      if (listeners.size === 0) return
      rung = true
      wake?.()
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      wake?.()
      await running
    },
  }
}
