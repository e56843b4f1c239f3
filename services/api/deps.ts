import type { Pool } from '../database/pool.ts'
import type { Live } from '../live/open-live.ts'
import type { Log } from '../log/open-log.ts'
import type { Feeds } from '../streams/feeds.ts'
import type { Settings } from '../settings.ts'
import type { Authenticate } from './plugins/principal.ts'

/** What the app is put together from. */
export type ApiDeps = {
  readonly pool: Pool
  readonly log: Log
  readonly feeds: Feeds
  readonly live: Live
  readonly settings: Pick<
    Settings,
    | 'maxEventBytes'
    | 'maxBodyBytes'
    | 'maxEvents'
    | 'defaultPage'
    | 'maxPage'
    | 'maxSubscriptions'
    | 'maxSockets'
    | 'drainTimeoutMs'
    | 'host'
    | 'origins'
    | 'tokensFile'
  >
  /** Told what is our fault; never what a caller did wrong. */
  readonly report: (problem: unknown) => void
  /** Asked to write down a session's transcript that is far behind. */
  readonly onLongTail?: (sid: number) => void
  /** Who asks; by default everybody on this machine. */
  readonly authenticate?: Authenticate
}

/** What routes get beside. */
export type RouteDeps = ApiDeps & {
  /** Aborted when the app begins to close: whoever waits must come to an end. */
  readonly stopping: AbortSignal
  /** The ways out to sockets and streams that are open. */
  readonly outlets: Set<{ readonly unsent: number }>
}
