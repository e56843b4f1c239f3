import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from '../log/command.ts'
import { readTurn, type Turn } from '../reads/read-turn.ts'
import type { RouteDeps } from './deps.ts'

/** How often it is looked whether another server has appended anything at all. */
const lookEveryMs = 250

/** A turn, as soon as it has ended, the time is over, or nobody waits any more. */
export const waitForTurn = async (
  { pool, log }: RouteDeps,
  target: Target,
  wait: { readonly turnId: string; readonly waitMs: number; readonly signal: AbortSignal },
): Promise<{ readonly data: Turn; readonly asOfSeq: number }> => {
  const deadline = performance.now() + wait.waitMs
  for (;;) {
    const changed = listen(log, target)
    try {
      const turn = await readTurn(pool, target, wait.turnId)
      if (turn.data.status === 'ended') return turn
      const { position } = log.horizon
      for (;;) {
        const left = deadline - performance.now()
        if (left <= 0 || wait.signal.aborted) return turn
        await Promise.race([changed.promise, pause(Math.min(left, lookEveryMs), wait.signal)])
        if (changed.heard() || log.horizon.position !== position) break
      }
    } finally {
      changed.stop()
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {})

/** Hears of the session's appends through this server. */
const listen = (log: RouteDeps['log'], { tenant, sessionId }: Target) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let heard = false
  const stop = log.onAppended((appended) => {
    if (appended.tenant !== tenant || appended.sessionId !== sessionId) return
    heard = true
    resolve()
  })
  return { promise, heard: () => heard, stop }
}
