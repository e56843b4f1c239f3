import type { Target } from './command.ts'
import type { Pending } from './pending.ts'
import type { Decidable } from './rules/decidable.ts'

/** The commands of one session, and its state as this server last wrote or read it. */
export type SessionQueue = {
  readonly target: Target
  readonly key: string
  waiting: Pending[]
  /** Written by `keep` alone. */
  readonly session: Decidable | undefined
  /** Compares lost in a row. */
  lost: number
  /** Whether somebody held its row at the last try. */
  locked: boolean
  /** Whether commands of it are under way: then no other goes out. */
  active: boolean
}

export type SessionQueues = {
  push(pending: Pending): void
  of(target: Target): SessionQueue
  /** The sessions with something to do, tenants in turn, each taken off the list. */
  takeReady(): SessionQueue[]
  ready(queue: SessionQueue): void
  /** Takes the first `count` commands off the queue; until `release` no other goes out. */
  busy(queue: SessionQueue, count: number): Pending[]
  release(queue: SessionQueue): void
  /** Puts commands back at the front, to be decided again. */
  giveBack(queue: SessionQueue, commands: readonly Pending[]): void
  /** Grows when all kept state is dropped. */
  readonly epoch: number
  /** Keeps the state as it was read or written in `epoch`; one of an earlier epoch is of another log. */
  keep(queue: SessionQueue, session: Decidable | undefined, epoch: number): void
  /** Drops all kept state: the log behind it may be another one. */
  forget(): void
}

export const createSessionQueues = (cachedSessions: number): SessionQueues => {
  const queues = new Map<string, Kept>()
  let epoch = 0
  const readyOf = new Map<number, Set<SessionQueue>>()

  const keyOf = ({ tenant, sessionId }: Target): string => `${tenant} ${sessionId}`

  const of = ({ tenant, sessionId }: Target): Kept => {
    const key = keyOf({ tenant, sessionId })
    let queue = queues.get(key)
    if (queue) {
      // Least recently used first, for `shrink`.
      queues.delete(key)
    } else {
      queue = {
        target: { tenant, sessionId },
        key,
        waiting: [],
        session: undefined,
        lost: 0,
        locked: false,
        active: false,
      }
    }
    queues.set(key, queue)
    return queue
  }

  const ready = (queue: SessionQueue): void => {
    let list = readyOf.get(queue.target.tenant)
    if (!list) readyOf.set(queue.target.tenant, (list = new Set()))
    list.add(queue)
  }

  const release = (queue: SessionQueue): void => {
    queue.active = false
    if (queue.waiting.length > 0) ready(queue)
    else shrink()
  }

  const shrink = (): void => {
    for (const queue of queues.values()) {
      if (queues.size <= cachedSessions) return
      if (!queue.active && queue.waiting.length === 0) queues.delete(queue.key)
    }
  }

  return {
    of,
    ready,
    release,
    push: (pending) => {
      const queue = of(pending.command)
      queue.waiting.push(pending)
      if (!queue.active) ready(queue)
    },
    takeReady: () => {
      const lists = [...readyOf.values()].map((list) => [...list])
      readyOf.clear()
      const longest = Math.max(0, ...lists.map((list) => list.length))
      const taken: SessionQueue[] = []
      for (let index = 0; index < longest; index += 1) {
        for (const list of lists) {
          const queue = list[index]
          if (queue) taken.push(queue)
        }
      }
      return taken
    },
    busy: (queue, count) => {
      queue.active = true
      return queue.waiting.splice(0, count)
    },
    giveBack: (queue, commands) => {
      queue.waiting.unshift(...commands)
      release(queue)
    },
    get epoch() {
      return epoch
    },
    keep: ({ target }, session, from) => {
      of(target).session = from === epoch ? session : undefined
    },
    forget: () => {
      epoch += 1
      for (const queue of queues.values()) queue.session = undefined
    },
  }
}

type Kept = { -readonly [K in keyof SessionQueue]: SessionQueue[K] }
