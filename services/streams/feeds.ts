import { Refusal } from '../../schema/errors.ts'
import type { Bus } from '../bus/bus.ts'
import type { Pool } from '../database/pool.ts'
import { createLane } from '../lane.ts'
import type { Target } from '../log/command.ts'
import { readSession, type SessionRow } from '../log/load-session.ts'
import { readHorizon } from '../log/read-horizon.ts'
import type { Log } from '../log/open-log.ts'
import { createBatches } from './batches.ts'
import { pageEvents, readFeeds, type FeedEvent } from './read-feeds.ts'
import { sweepHeads } from './sweep-heads.ts'

/** A session that somebody follows. */
export type Feed = {
  readonly sid: number
  readonly sessionId: string
  /** The highest seq that was heard of. */
  readonly head: number
  /** Whether another log came behind the database: nothing of this feed holds any more. */
  readonly lost: boolean
  /** The events after `afterSeq`, a page of them. Read once for all who ask for the same. */
  readonly read: (afterSeq: number) => Promise<readonly FeedEvent[]>
  /** Resolves when the head is above `afterSeq`, the feed is lost or the signal is aborted. */
  readonly changed: (afterSeq: number, signal: AbortSignal) => Promise<void>
}

export type OpenedFeed = Disposable & {
  readonly feed: Feed
  /** How the session was when the feed was opened. Of its row no more: it stays as long as this. */
  readonly headSeq: number
  readonly deleted: boolean
  /** Which log it is of. */
  readonly log: string
}

export type Feeds = AsyncDisposable & {
  /** Throws Refusal `session_not_found`. */
  readonly open: (target: Target) => Promise<OpenedFeed>
  /** Sessions that are followed at the moment. */
  readonly size: number
}

type Kept = {
  -readonly [K in keyof Feed]: Feed[K]
} & {
  users: number
  readonly waiting: Set<() => void>
  last: { readonly afterSeq: number; readonly page: Promise<readonly FeedEvent[]> } | undefined
}

/** Where nothing rings, the poller's look is followed this often. */
const sweepEveryMs = 250
/** Those far behind read beside those that are live, and not before them. */
const historyAtOnce = 3

/**
 * Follows the heads of the sessions that somebody subscribed to: told by appends made here and by
 * the bus, and by the poller's position for whatever no ring came for. Rings what is appended here.
 */
export const openFeeds = (deps: {
  readonly pool: Pool
  readonly log: Log
  readonly bus: Bus
  readonly report: (problem: unknown) => void
}): Feeds => {
  const { pool, log, bus, report } = deps
  const feeds = new Map<number, Kept>()
  const history = createLane(historyAtOnce)
  const live = createBatches(pool)
  /** Feeds that keep their last page for a moment. */
  const keeping = new Set<Kept>()
  /** The position up to which sweeps have looked; undefined while nobody follows. */
  let swept: number | undefined
  let sweeping = false
  let opening = 0

  const wake = (feed: Kept): void => {
    const woken = [...feed.waiting]
    feed.waiting.clear()
    for (const resume of woken) resume()
  }

  const hear = (sid: number, headSeq: number): void => {
    const feed = feeds.get(sid)
    if (!feed || headSeq <= feed.head) return
    feed.head = headSeq
    wake(feed)
  }

  const stops = [
    log.onAppended(({ sid, headSeq }) => {
      hear(sid, headSeq)
      bus.ring({ sid, headSeq })
    }),
    bus.onRing((rings) => {
      for (const { sid, headSeq } of rings) hear(sid, headSeq)
    }),
    pool.onIncarnation(() => {
      swept = undefined
      for (const feed of feeds.values()) {
        feed.lost = true
        wake(feed)
      }
      feeds.clear()
    }),
  ]

  const sweep = async (): Promise<void> => {
    const { position } = log.horizon
    if (feeds.size === 0 && opening === 0) swept = undefined
    const from = swept
    if (sweeping || from === undefined || position <= from) return
    sweeping = true
    try {
      for (const { sid, headSeq } of await sweepHeads(pool, from, position)) hear(sid, headSeq)
      // A feed that is being opened may have read its row before this look, and is not told yet.
      if (swept === from && opening === 0) swept = position
    } catch {
      // The poller says that the database is away; what was missed is swept later.
    } finally {
      sweeping = false
    }
  }
  const timer = setInterval(() => {
    for (const feed of keeping) feed.last = undefined
    keeping.clear()
    void sweep().catch(report)
  }, sweepEveryMs)

  const readPage = (feed: Kept, afterSeq: number): Promise<readonly FeedEvent[]> => {
    const wanted = { sid: feed.sid, sessionId: feed.sessionId, afterSeq }
    return feed.head - afterSeq > pageEvents
      ? history(async () => {
          const [page] = await pool.use((connection) => readFeeds(connection, [wanted]))
          return page!
        })
      : live.read(wanted)
  }

  const make = (session: SessionRow): Kept => {
    const feed: Kept = {
      sid: session.sid,
      sessionId: session.sessionId,
      head: session.headSeq,
      lost: false,
      users: 0,
      waiting: new Set(),
      last: undefined,
      read: (afterSeq) => {
        if (feed.last?.afterSeq === afterSeq) return feed.last.page
        const heard = feed.head
        const page = readPage(feed, afterSeq)
        // Kept for those who come to the same place a little later; not if there may be more by now.
        const last = { afterSeq, page }
        feed.last = last
        keeping.add(feed)
        const drop = (): void => {
          if (feed.last === last) feed.last = undefined
        }
        page.then((events) => {
          const end = events.at(-1)?.seq ?? afterSeq
          if (end < feed.head) drop()
          // A ring that said more than there is, as of a log that was restored.
          if (events.length === 0 && feed.head === heard) feed.head = afterSeq
        }, drop)
        return page
      },
      changed: (afterSeq, signal) => {
        if (feed.head > afterSeq || feed.lost || signal.aborted) return Promise.resolve()
        return new Promise((resolve) => {
          const resume = (): void => {
            feed.waiting.delete(resume)
            signal.removeEventListener('abort', resume)
            resolve()
          }
          feed.waiting.add(resume)
          signal.addEventListener('abort', resume)
        })
      },
    }
    return feed
  }

  const open = async (target: Target): Promise<OpenedFeed> => {
    opening += 1
    const { session, incarnation } = await pool
      .use(async (connection) => {
        const of = pool.incarnation!
        // Before the session's row: what comes after this position is found by a sweep.
        if (swept === undefined) {
          const horizon = await readHorizon(connection)
          if (pool.incarnation === of) swept ??= horizon
        }
        return { incarnation: of, session: await readSession(connection, target) }
      })
      .finally(() => (opening -= 1))
    if (!session) throw new Refusal('session_not_found', `there is no session ${target.sessionId}`)
    const isLost = pool.incarnation !== incarnation
    let feed = isLost ? undefined : feeds.get(session.sid)
    if (!feed) {
      feed = make(session)
      feed.lost = isLost
      if (!isLost) feeds.set(session.sid, feed)
    }
    if (!isLost) hear(session.sid, session.headSeq)
    feed.users += 1
    const opened = feed
    return {
      feed,
      headSeq: session.headSeq,
      deleted: session.state.deleted === true,
      log: incarnation,
      [Symbol.dispose]: () => {
        opened.users -= 1
        if (opened.users === 0 && feeds.get(opened.sid) === opened) feeds.delete(opened.sid)
      },
    }
  }

  return {
    open,
    get size() {
      return feeds.size
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      for (const stop of stops) stop()
    },
  }
}
