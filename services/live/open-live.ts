import { Refusal } from '../../schema/errors.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { LiveFrame, LiveOut } from '../../schema/socket/live.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { readSession } from '../log/load-session.ts'
import type { Log } from '../log/open-log.ts'
import type { SessionState } from '../log/session-state.ts'
import type { Feeds } from '../streams/feeds.ts'
import { followSession } from '../streams/follow-session.ts'
import type { Sink } from '../streams/sink.ts'
import { checkFence, type RunningTurn } from './check-fence.ts'
import { addFrame, endParts, wholeOf, type LiveParts } from './live-parts.ts'

/** Takes a frame; gives false when it has no room for it now, and gets the whole part later. */
export type LiveListener = (frame: LiveOut) => boolean

export type Live = AsyncDisposable & {
  /**
   * Passes a frame on to all who listen here. Gives whether the part has a gap: then the sender must
   * send it anew, as `replace`. Throws Refusal `fenced`, `fence_required`, `no_turn`,
   * `session_not_found`, `session_deleted`; nothing is passed on then.
   */
  readonly receive: (target: Target, frame: LiveFrame) => Promise<{ readonly gap: boolean }>
  /**
   * Gives first what has been said so far of parts that are open at `seq` or later, then each frame.
   */
  readonly attach: (target: Target, seq: number, listener: LiveListener) => () => void
  /** What has been said of open parts, by `message/attempt/part/kind`. */
  readonly said: (target: Target) => ReadonlyMap<string, string>
}

type Speaking = {
  turn: RunningTurn
  /** The highest fence that was heard of. */
  fence: number
  /** The turn that ended last: a state that was read before does not bring it back. */
  endedTurnId: string | undefined
  /** How far its log was followed. */
  seq: number
  /** Who has seen more of the log than was followed here: what ended meanwhile is not for them. */
  readonly behind: Set<{ readonly listening: Listening; readonly seq: number }>
  parts: LiveParts
  readonly ready: Promise<void>
  readonly stop: AbortController
  lastAt: number
  looking: Promise<void> | undefined
}

/** A session in which nothing was said for so long is let go, sooner if nothing is open. */
const idleMs = 60_000
const longestIdleMs = 600_000
const sweepEveryMs = 15_000

export const openLive = (deps: {
  readonly pool: Pool
  readonly log: Pick<Log, 'onAppended'>
  readonly feeds: Feeds
  readonly report: (problem: unknown) => void
}): Live => {
  const { pool, log, feeds, report } = deps
  const speaking = new Map<string, Speaking>()
  const listeners = new Map<string, Set<Listening>>()

  const readState = async (target: Target): Promise<SessionState | undefined> => {
    const session = await pool.use((connection) => readSession(connection, target))
    return session?.state
  }

  /** Follows the session's log from here on: it says whose frames count, and what has ended. */
  const speak = (target: Target): Speaking => {
    const key = keyOf(target)
    const known = speaking.get(key)
    if (known) return known
    const stop = new AbortController()
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
    const session: Speaking = {
      turn: undefined,
      fence: 0,
      endedTurnId: undefined,
      seq: 0,
      behind: new Set(),
      parts: new Map(),
      lastAt: Date.now(),
      looking: undefined,
      ready,
      stop,
    }
    speaking.set(key, session)
    const letGo = (): void => {
      if (speaking.get(key) === session) speaking.delete(key)
      stop.abort()
    }
    const sink: Sink = {
      turn: (work) => work(),
      event: (text, { seq }) => {
        const event = JSON.parse(text) as StoredEvent
        follow(session, event)
        session.parts = endParts(session.parts, event)
        reach(session, seq)
      },
      caughtUp: (at) => {
        if ('seq' in at) reach(session, at.seq)
        // Asked after the place that is followed from: what comes between is followed as well.
        readState(target).then((state) => {
          if (!state) return reject(notFound(target))
          learn(session, state)
          resolve()
        }, reject)
      },
      reset: letGo,
      ended: letGo,
    }
    void ready.catch(letGo)
    followSession(feeds, target, { afterSeq: -1 }, sink, stop.signal)
      .then(
        () => reject(new Refusal('session_deleted', `session ${target.sessionId} is deleted`)),
        (error: unknown) => {
          reject(error)
          if (!(error instanceof Refusal)) report(error)
        },
      )
      .finally(letGo)
    return session
  }

  const tell = (target: Target, session: Speaking, frame: LiveOut): void => {
    for (const listening of listeners.get(keyOf(target)) ?? []) give(listening, session, frame)
  }

  const look = async (target: Target, session: Speaking): Promise<void> => {
    const state = await readState(target)
    if (!state) throw notFound(target)
    learn(session, state)
  }

  const receive = async (target: Target, frame: LiveFrame): Promise<{ gap: boolean }> => {
    const session = speak(target)
    await session.ready
    if (checkFence(session.turn, frame) === 'unsure') {
      // The turn may have begun through another server, whose ring has not come yet. Frames that
      // find so together wait together, so that none overtakes another.
      session.looking ??= look(target, session).finally(() => (session.looking = undefined))
      await session.looking
      if (checkFence(session.turn, frame) === 'unsure') {
        throw new Refusal('no_turn', `turn ${frame.turnId} does not run under this fence`)
      }
    }
    session.lastAt = Date.now()
    const { parts, out, gap } = addFrame(session.parts, frame)
    session.parts = parts
    if (out) tell(target, session, out)
    return { gap }
  }

  // What is appended here counts at once: the events come a moment later.
  const stop = log.onAppended(({ state, ...target }) => {
    const session = speaking.get(keyOf(target))
    if (session) learn(session, state)
  })

  const timer = setInterval(() => {
    for (const [key, session] of speaking) {
      for (const listening of listeners.get(key) ?? []) {
        if (listening.missed.size > 0) giveMissed(listening, session)
      }
      const idle = Date.now() - session.lastAt
      if (idle > (session.parts.size === 0 ? idleMs : longestIdleMs)) session.stop.abort()
    }
  }, sweepEveryMs).unref()

  return {
    receive,
    attach: (target, seq, listener) => {
      const key = keyOf(target)
      const listening: Listening = { listener, missed: new Set() }
      const entry = { listening, seq }
      let all = listeners.get(key)
      if (!all) listeners.set(key, (all = new Set()))
      all.add(listening)
      const session = speaking.get(key)
      if (session && session.parts.size > 0) {
        for (const part of session.parts.values()) listening.missed.add(missedKey(part))
        if (session.seq >= seq) giveMissed(listening, session)
        else session.behind.add(entry)
      }
      return () => {
        session?.behind.delete(entry)
        all.delete(listening)
        if (all.size === 0 && listeners.get(key) === all) listeners.delete(key)
      }
    },
    said: (target) => {
      const parts = speaking.get(keyOf(target))?.parts ?? new Map()
      return new Map([...parts].flatMap(([key, { text }]) => (text ? [[key, text]] : [])))
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      stop()
      for (const session of speaking.values()) session.stop.abort()
      speaking.clear()
    },
  }
}

type Listening = {
  readonly listener: LiveListener
  /** Parts of which something was not taken: they are given whole, as soon as there is room. */
  readonly missed: Set<string>
}

const missedKey = ({ messageId, partId }: { messageId: string; partId: string }): string =>
  `${messageId}/${partId}`

/** Gives whole whatever is missed and still being said, as far as there is room. */
const giveMissed = (listening: Listening, session: Speaking): void => {
  for (const part of session.parts.values()) {
    const key = missedKey(part)
    if (listening.missed.has(key) && listening.listener(wholeOf(part))) listening.missed.delete(key)
  }
}

const reach = (session: Speaking, seq: number): void => {
  session.seq = seq
  for (const entry of session.behind) {
    if (entry.seq > seq) continue
    session.behind.delete(entry)
    giveMissed(entry.listening, session)
  }
}

const give = (listening: Listening, session: Speaking, frame: LiveOut): void => {
  const key = missedKey(frame)
  if (listening.missed.has(key)) {
    const parts = [...session.parts.values()].filter(
      (part) => part.messageId === frame.messageId && part.partId === frame.partId,
    )
    if (parts.every((part) => listening.listener(wholeOf(part)))) listening.missed.delete(key)
  } else if (!listening.listener(frame)) listening.missed.add(key)
}

/** A state that was read may be older than what is known: fences only grow. */
const learn = (session: Speaking, { turn, fence }: SessionState): void => {
  if (fence < session.fence) return
  session.fence = fence
  session.turn =
    turn && turn.turnId !== session.endedTurnId
      ? { turnId: turn.turnId, fence: turn.fence }
      : undefined
}

/** The same from an event, which may come after a state that has it already. */
const follow = (session: Speaking, event: StoredEvent): void => {
  switch (event.type) {
    case 'turn.started':
    case 'turn.claimed':
    case 'turn.released':
      if (event.data.fence <= session.fence) return
      session.fence = event.data.fence
      session.turn = { turnId: event.data.turnId, fence: event.data.fence }
      return
    case 'turn.ended':
      session.endedTurnId = event.data.turnId
      if (session.turn?.turnId === event.data.turnId) session.turn = undefined
      return
    default:
  }
}

const keyOf = ({ tenant, sessionId }: Target): string => `${tenant} ${sessionId}`

const notFound = ({ sessionId }: Target): Refusal =>
  new Refusal('session_not_found', `there is no session ${sessionId}`)
