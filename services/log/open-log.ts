import type { Pool } from '../database/pool.ts'
import type { Command, Outcome } from './command.ts'
import {
  createGroupCommit,
  groupCommitDefaults,
  type Appended,
  type GroupCommitSettings,
} from './group-commit.ts'
import { startPoller, type Horizon } from './poller.ts'

/** The log as this server writes it and hears of it. */
export type Log = AsyncDisposable & {
  /**
   * Decides one command and appends what it brings. Resolves when it is committed; rejects with a
   * Refusal, made on the state as it is in the database, when nothing was appended, and with
   * `outcome_unknown` when nobody can say.
   */
  execute(command: Command): Promise<Outcome>
  readonly horizon: Horizon
  /** Called after each commit made here. */
  onAppended(listener: (appended: Appended) => void): () => void
}

export const openLog = (deps: {
  readonly pool: Pool
  readonly settings?: Partial<GroupCommitSettings>
  readonly report: (problem: unknown) => void
}): Log => {
  const listeners = new Set<(appended: Appended) => void>()
  const horizon = startPoller(deps.pool, deps.report)
  const groupCommit = createGroupCommit({
    pool: deps.pool,
    settings: { ...groupCommitDefaults, ...deps.settings },
    appended: (appended) => {
      for (const listener of listeners) {
        // A listener's fault is not the append's: it is committed.
        try {
          listener(appended)
        } catch (error) {
          deps.report(error)
        }
      }
      horizon.ring()
    },
  })
  return {
    execute: (command) => groupCommit.execute(command),
    horizon,
    onAppended: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    [Symbol.asyncDispose]: async () => {
      await groupCommit.drain()
      await horizon[Symbol.asyncDispose]()
    },
  }
}
