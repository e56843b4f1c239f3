import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import type { Target } from '../log/command.ts'
import type { Feed, Feeds } from './feeds.ts'
import type { FeedEvent } from './read-feeds.ts'
import type { Sink } from './sink.ts'

export type FollowSession = {
  /** The last seq that the subscriber has; 0 for all, -1 for what comes from now on. */
  readonly afterSeq: number
  /** The log that `afterSeq` is of, if the subscriber knows. */
  readonly log?: string
}

const shortestPauseMs = 100
const longestPauseMs = 2_000

/**
 * Gives a sink the events of a session after a seq, each once and in order, until the signal is
 * aborted or it has ended or was reset. Resolves then. Throws Refusal `session_not_found` before
 * anything was given. An outage of the database is waited out.
 */
export const followSession = async (
  feeds: Feeds,
  target: Target,
  from: FollowSession,
  sink: Sink,
  signal: AbortSignal,
): Promise<void> => {
  using opened = await feeds.open(target)
  const { feed, headSeq, log } = opened
  let cursor = from.afterSeq < 0 ? headSeq : from.afterSeq
  if (from.log !== undefined && from.log !== log) return sink.reset(otherLog)
  if (opened.deleted) return sink.ended({ reason: 'deleted', afterSeq: cursor })
  if (cursor > headSeq) return sink.reset({ reason: 'ahead', oldestSeq: 1 })

  let deleted = false
  /** Writes a page. Gives whether the session is deleted, as far as it was followed. */
  const give = async (): Promise<boolean> => {
    for (const event of await readPatiently(feed, cursor, signal)) {
      if (signal.aborted || feed.lost) return false
      sink.event(event.text, { seq: event.seq })
      cursor = event.seq
      if (event.type === 'session.deleted') deleted = true
      // It may have been restored since.
      if (event.type === 'session.restored') deleted = false
    }
    return deleted && cursor >= feed.head
  }

  let caughtUp = false
  while (!signal.aborted) {
    if (feed.lost) return sink.reset(otherLog)
    if (cursor < feed.head && (await sink.turn(give))) {
      return sink.ended({ reason: 'deleted', afterSeq: cursor })
    }
    if (!caughtUp && cursor >= headSeq && !feed.lost && !signal.aborted) {
      caughtUp = true
      sink.caughtUp({ seq: cursor, log })
    }
    await feed.changed(cursor, signal)
  }
}

const otherLog = { reason: 'other_log', oldestSeq: 1 } as const

const readPatiently = async (
  feed: Feed,
  afterSeq: number,
  signal: AbortSignal,
): Promise<readonly FeedEvent[]> => {
  for (let pause = shortestPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    if (signal.aborted || feed.lost) return []
    try {
      return await feed.read(afterSeq)
    } catch (error) {
      // What the schema refuses does not pass by itself; all else is an outage.
      if (error instanceof Refusal && error.code === 'schema_newer') throw error
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
}
