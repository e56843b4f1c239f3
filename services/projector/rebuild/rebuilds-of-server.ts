import type { Pool } from '../../database/pool.ts'
import type { RebuildOptions } from './run-rebuild.ts'
import { rebuildThroughOutages } from './through-outages.ts'

/** The rebuild that this server works on, one at the most. */
export type RebuildsOfServer = {
  /** Begins one, or joins it. Gives its generation when it is known. Throws Refusal. */
  start(options: Pick<RebuildOptions, 'verify' | 'verifyOnly' | 'keep'>): Promise<number>
  /** Resolves when nothing of it runs any more. */
  readonly idle: Promise<void>
}

/** Fewer than the command takes: a server has something else to do. */
const workers = 2

export const rebuildsOfServer = (deps: {
  readonly pool: Pool
  readonly signal: AbortSignal
  readonly report: (problem: unknown) => void
}): RebuildsOfServer => {
  const { pool, signal, report } = deps
  let opened: Promise<number> | undefined
  let idle = Promise.resolve()
  return {
    start: (options) => {
      if (opened) return opened
      const { promise, resolve, reject } = Promise.withResolvers<number>()
      opened = promise
      let known = false
      idle = rebuildThroughOutages(pool, {
        ...options,
        workers,
        signal,
        onOpened: ({ generation }) => {
          known = true
          resolve(generation)
        },
      }).then(
        ({ generation }) => {
          opened = undefined
          resolve(generation)
        },
        (error: unknown) => {
          opened = undefined
          if (known) report(error)
          else reject(error)
        },
      )
      return promise
    },
    get idle() {
      return idle
    },
  }
}
