import { openPostgresBus } from '../../services/bus/postgres-bus.ts'
import type { Pool } from '../../services/database/pool.ts'
import { openLive, type Live } from '../../services/live/open-live.ts'
import type { Log } from '../../services/log/open-log.ts'
import { openFeeds, type Feeds } from '../../services/streams/feeds.ts'

/** What the app streams from, as a server has it. */
export const openStreams = (deps: {
  readonly url: string
  readonly pool: Pool
  readonly log: Log
  readonly report: (problem: unknown) => void
}): AsyncDisposable & { readonly feeds: Feeds; readonly live: Live } => {
  const { pool, log, report } = deps
  const bus = openPostgresBus(deps)
  const feeds = openFeeds({ ...deps, bus })
  const live = openLive({ pool, log, feeds, report })
  return {
    feeds,
    live,
    [Symbol.asyncDispose]: async () => {
      await live[Symbol.asyncDispose]()
      await feeds[Symbol.asyncDispose]()
      await bus[Symbol.asyncDispose]()
    },
  }
}
