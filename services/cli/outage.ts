import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceProblem, ServiceUnreachable } from './client-request.ts'

const shortestPauseMs = 250
const longestPauseMs = 5_000

/** Whether it may pass by itself: nobody answers, or the service says that it cannot just now. */
export const isOutage = (error: unknown): boolean => {
  if (error instanceof ServiceUnreachable) return true
  if (!(error instanceof ServiceProblem)) return false
  const { status } = error.problem
  return status >= 500 || status === 429
}

/** Pauses that grow, each a little different, so that those who were lost do not return at once. */
export const pauses = (): { next: (signal: AbortSignal) => Promise<void>; reset: () => void } => {
  let pause = shortestPauseMs
  return {
    next: async (signal) => {
      const ms = pause * (0.75 + Math.random() / 2)
      pause = Math.min(pause * 2, longestPauseMs)
      await sleep(ms, undefined, { signal }).catch(() => {})
    },
    reset: () => (pause = shortestPauseMs),
  }
}

/** Says when the service is lost and when it is back, each once. */
export type Line = { readonly lost: () => void; readonly back: () => void }

export const openLine = (say: (text: string) => void): Line => {
  let isLost = false
  return {
    lost: () => {
      if (!isLost) say('the service is lost; trying again')
      isLost = true
    },
    back: () => {
      if (isLost) say('the service is back')
      isLost = false
    },
  }
}

/** Does work until no outage comes between; undefined when the signal ended it first. */
export const patiently = async <T>(
  work: () => Promise<T>,
  line: Line,
  signal: AbortSignal,
): Promise<T | undefined> => {
  const pause = pauses()
  while (!signal.aborted) {
    try {
      return await work()
    } catch (error) {
      // What we broke off ourselves is no outage.
      if (signal.aborted) return undefined
      if (!isOutage(error)) throw error
    }
    line.lost()
    await pause.next(signal)
  }
  return undefined
}
