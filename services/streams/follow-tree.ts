import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import { ConnectionLost, DatabaseError } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import type { Target } from '../log/command.ts'
import { readSession } from '../log/load-session.ts'
import type { Log } from '../log/open-log.ts'
import { readHorizon } from '../log/read-horizon.ts'
import { readTree, type TreeMember } from '../reads/read-tree.ts'
import type { Feeds } from './feeds.ts'
import { followAll } from './follow-all.ts'
import { followSession, type FollowSession } from './follow-session.ts'
import type { Ended, Reset, Sink } from './sink.ts'

export type FollowTree = FollowSession & {
  /**
   * The last seqs that the subscriber has of descendants. Others are given from their first event;
   * if the root is followed from now on, so are those that are there.
   */
  readonly after?: ReadonlyMap<string, number>
}

/** Where the frames of a tree go. Each says which session it is of. */
export type TreeSink = Pick<Sink, 'turn'> & {
  readonly event: (envelope: string, at: { sessionId: string; seq: number }) => void
  readonly caughtUp: (at: { sessionId: string; seq: number; log: string }) => void
  /** Of a descendant: the rest goes on. Of the root: the last frame. */
  readonly ended: (ended: Ended & { readonly sessionId: string }) => void
  /** The last frame. */
  readonly reset: (reset: Reset & { readonly sessionId: string }) => void
  /** One session more is followed. Throws the Refusal that ends it all if there is no room. */
  readonly joined: (sessionId: string) => void
  readonly left: (sessionId: string) => void
}

type Member = {
  readonly sessionId: string
  place: number
  following: boolean
  /** The newest restoring that was heard of while it was followed. */
  restoredSeq: number
}

type Deps = { readonly pool: Pool; readonly log: Log; readonly feeds: Feeds }

/**
 * Gives a sink the events of a session and of all its descendants, those that come into being later
 * included: each session's in order, each once, as `followSession` gives them. Who is born or
 * restored is heard of in the order of all events, from a place that was read before the tree was.
 *
 * Resolves when the signal is aborted, the root has ended or a place cannot be gone on from. Throws
 * Refusal `session_not_found`, `too_large` before anything was given, and what `joined` throws.
 */
export const followTree = async (
  deps: Deps,
  root: Target,
  from: FollowTree,
  sink: TreeSink,
  signal: AbortSignal,
): Promise<void> => {
  const { pool, feeds } = deps
  const { tenant } = root
  const beginning = await readBeginning(pool, root)
  const stop = new AbortController()
  const over = AbortSignal.any([signal, stop.signal])
  const members = new Map<string, Member>()
  const running = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined

  const run = (work: Promise<void>): void => {
    const settled = work
      .catch((error: unknown) => {
        if (!over.aborted) failure ??= { error }
        stop.abort()
      })
      .finally(() => running.delete(settled))
    running.add(settled)
  }

  const finish = (say: () => void): void => {
    if (over.aborted) return
    say()
    stop.abort()
  }

  /** Until it is deleted; gives its end then. */
  const followOnce = async (member: Member): Promise<Ended | undefined> => {
    const { sessionId, place: afterSeq } = member
    let ended: Ended | undefined
    await followSession(
      feeds,
      { tenant, sessionId },
      { afterSeq, ...(from.log !== undefined && { log: from.log }) },
      {
        turn: (work) => sink.turn(work),
        event: (envelope, { seq }) => {
          member.place = seq
          sink.event(envelope, { sessionId, seq })
        },
        caughtUp: (at) => {
          if (!('seq' in at)) return
          member.place = at.seq
          sink.caughtUp({ sessionId, ...at })
        },
        reset: (reset) => finish(() => sink.reset({ sessionId, ...reset })),
        ended: (end) => (ended = end),
      },
      over,
    )
    return ended
  }

  const follow = async (member: Member): Promise<void> => {
    const { sessionId } = member
    for (;;) {
      member.restoredSeq = 0
      const ended = await throughOutages(() => followOnce(member), over)
      if (over.aborted || !ended) return
      member.place = ended.afterSeq
      // It was restored while its end was read.
      if (member.restoredSeq > member.place) continue
      if (sessionId === root.sessionId) return finish(() => sink.ended({ sessionId, ...ended }))
      sink.ended({ sessionId, ...ended })
      member.following = false
      return sink.left(sessionId)
    }
  }

  const begin = (member: Member): void => {
    if (over.aborted) return
    member.following = true
    members.set(member.sessionId, member)
    try {
      sink.joined(member.sessionId)
    } catch (error) {
      return run(Promise.reject(error))
    }
    run(
      follow(member).catch((error: unknown) => {
        if (!isGone(error) || member.sessionId === root.sessionId) throw error
        member.following = false
        sink.left(member.sessionId)
      }),
    )
  }

  const beginAt = (sessionId: string, otherwise: number): void => {
    if (members.has(sessionId)) return
    const place = from.after?.get(sessionId) ?? otherwise
    begin({ sessionId, place, following: false, restoredSeq: 0 })
  }

  /** What was created before its parent came with it. */
  const bringDescendants = async (sessionId: string): Promise<void> => {
    const target = { tenant, sessionId }
    const read = await throughOutages(() => membersOf(pool, target), over).catch(passGone)
    for (const member of read?.members ?? []) beginAt(member.sessionId, 0)
  }

  const hear = (envelope: string): void => {
    const { sessionId, seq, type, data } = JSON.parse(envelope) as Heard
    const member = members.get(sessionId)
    if (type === 'session.restored') {
      if (member?.following) member.restoredSeq = seq
      else if (member && member.place < seq) begin(member)
    } else if (!member && data.parent !== undefined && members.has(data.parent.sessionId)) {
      beginAt(sessionId, 0)
      run(bringDescendants(sessionId))
    }
  }

  begin({
    sessionId: root.sessionId,
    place: from.afterSeq,
    following: false,
    restoredSeq: 0,
  })
  if (!beginning.deleted) {
    for (const { sessionId } of beginning.descendants) {
      beginAt(sessionId, Math.min(from.afterSeq, 0))
    }
    run(
      followAll(
        deps,
        {
          tenant,
          afterPosition: beginning.position,
          types: ['session.created', 'session.restored'],
          log: beginning.log,
          cursorOf: String,
        },
        {
          // Nothing is written here: it does not wait for the reader.
          turn: (work) => work(),
          event: hear,
          caughtUp: () => {},
          reset: (reset) => finish(() => sink.reset({ sessionId: root.sessionId, ...reset })),
          ended: () => {},
        },
        over,
      ),
    )
  }
  if (!over.aborted) {
    await new Promise<void>((resolve) => over.addEventListener('abort', () => resolve()))
  }
  await Promise.all(running)
  if (failure) throw failure.error
}

type Heard = {
  readonly sessionId: string
  readonly seq: number
  readonly type: 'session.created' | 'session.restored'
  readonly data: { readonly parent?: { readonly sessionId: string } }
}

/** Purged since it was heard of: there is nothing to follow. */
const isGone = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'session_not_found'

const passGone = (error: unknown): undefined => {
  if (!isGone(error)) throw error
}

type Beginning = {
  readonly log: string
  /** Up to here all that was created is in the tree. */
  readonly position: number
  readonly deleted: boolean
  readonly descendants: readonly TreeMember[]
}

const readBeginning = async (pool: Pool, root: Target): Promise<Beginning> => {
  const { log, position } = await pool.use(async (connection) => ({
    position: await readHorizon(connection),
    log: pool.incarnation!,
  }))
  // In a snapshot of its own, and so a later one.
  const { deleted, members } = await membersOf(pool, root)
  return { log, position, deleted, descendants: members.slice(1) }
}

const membersOf = (pool: Pool, target: Target) =>
  runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (connection) => {
    const session = await readSession(connection, target)
    if (!session) throw new Refusal('session_not_found', `there is no session ${target.sessionId}`)
    const members = await readTree(connection, session)
    return { deleted: session.state.deleted === true, members }
  })

const shortestPauseMs = 100
const longestPauseMs = 2_000

const isOutage = (error: unknown): boolean =>
  error instanceof ConnectionLost ||
  error instanceof DatabaseError ||
  (error instanceof Refusal && error.code === 'overloaded')

/** Does again what an outage broke off, which has begun nothing or goes on where it was. */
const throughOutages = async <T>(
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> => {
  for (let pause = shortestPauseMs; !signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
    try {
      return await work()
    } catch (error) {
      if (!isOutage(error)) throw error
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}
