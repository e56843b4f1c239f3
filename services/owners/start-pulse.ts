import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../database/pool.ts'

const everyMs = 500

/**
 * Says twice a second that heartbeats can be taken, so that an outage of the database, in which none
 * can, takes nobody's lease (docs/decisions/0008).
 */
export const startPulse = (deps: {
  readonly pool: Pool
  readonly report: (problem: unknown) => void
}): AsyncDisposable => {
  const stopping = new AbortController()
  let failing = false
  const pulse = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await deps.pool.use((connection) => connection.query('select stemma.pulse_v1()'))
        failing = false
      } catch (error) {
        if (!failing && !stopping.signal.aborted) deps.report(error)
        failing = true
      }
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const running = pulse()
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
