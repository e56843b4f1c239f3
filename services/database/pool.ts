import { Refusal } from '../../schema/errors.ts'
import { connect, DatabaseError, type Connection, type OpenConnection } from './connection.ts'
import { createWaiters } from './waiters.ts'

/** Connections to one database, lent one at a time. */
export interface Pool extends AsyncDisposable {
  /**
   * Runs the work on a connection of its own. Rejects with the work's error, with
   * Refusal('overloaded') if no connection comes free in time or the server cannot be reached, and
   * with DatabaseError if it turns us away (password, database).
   */
  use<T>(
    work: (connection: Connection) => Promise<T>,
    options?: { readonly acquireTimeoutMs?: number },
  ): Promise<T>
  /** Which log this is (system identifier, timeline, database); undefined before the first connection. */
  readonly incarnation: string | undefined
  /** Called when a new connection leads to another log than the last one did. */
  onIncarnation(listener: (incarnation: string) => void): () => void
  /** Connections, open or being opened. */
  readonly size: number
  /** Callers that wait for one. */
  readonly waiting: number
  /** The most connections that it opens. */
  readonly max: number
}

export type PoolOptions = {
  readonly url: string
  readonly max: number
  readonly applicationName: string
  readonly statementTimeoutMs?: number
  readonly acquireTimeoutMs?: number
  readonly connectTimeoutMs?: number
}

const defaults = {
  statementTimeoutMs: 30_000,
  acquireTimeoutMs: 10_000,
  connectTimeoutMs: 5_000,
}

/** A restart of the server is waited out; after this, callers are told at once that it is away. */
const patienceMs = 3_000
/** A failure as old as this belongs to another outage. */
const forgetFailureMs = 15_000
const shortestBackoffMs = 50
const longestBackoffMs = 250
/** How long disposing waits for connections that are still lent. */
const drainMs = 5_000

/** Opens nothing yet: connections are made when they are asked for. */
export const openPool = (options: PoolOptions): Pool => {
  const settings = { ...defaults, ...options }
  const idle: OpenConnection[] = []
  const lent = new Set<OpenConnection>()
  const waiters = createWaiters<OpenConnection>()
  const listeners = new Set<(incarnation: string) => void>()
  let incarnation: string | undefined
  let opening = 0
  let failingSince: number | undefined
  let lastFailedAt = 0
  let backoffMs = 0
  let retry: NodeJS.Timeout | undefined
  let closed = false
  let drained: (() => void) | undefined

  const size = (): number => idle.length + lent.size + opening

  /** Opens as many as there are callers waiting, one attempt at a time while the server is away. */
  const grow = (): void => {
    if (closed || retry) return
    const most = failingSince === undefined ? waiters.size : Math.min(waiters.size, 1)
    for (let wanted = most - opening; wanted > 0 && size() < settings.max; wanted -= 1) void open()
  }

  const open = async (): Promise<void> => {
    opening += 1
    let opened: OpenConnection | undefined
    let failure: unknown
    try {
      opened = await connect(settings, () => opened && forget(opened))
    } catch (error) {
      failure = error
    }
    opening -= 1
    if (opened) admit(opened)
    else failed(failure)
    grow()
  }

  const admit = (connection: OpenConnection): void => {
    failingSince = undefined
    backoffMs = 0
    const before = incarnation
    incarnation = connection.incarnation
    if (before !== undefined && before !== incarnation) {
      for (const old of idle.splice(0)) void old.close()
      for (const listener of listeners) listener(incarnation)
    }
    offer(connection)
  }

  const failed = (error: unknown): void => {
    const now = Date.now()
    if (now - lastFailedAt > forgetFailureMs) failingSince = undefined
    failingSince ??= now
    lastFailedAt = now
    const turnedAway = error instanceof DatabaseError && !comesRight.has(error.code)
    if (turnedAway) waiters.rejectAll(error)
    else if (size() === 0 && now - failingSince >= patienceMs) {
      waiters.rejectAll(
        new Refusal('overloaded', 'the database cannot be reached', { cause: error }),
      )
    }
    backoffMs = Math.min(Math.max(backoffMs * 2, shortestBackoffMs), longestBackoffMs)
    retry ??= setTimeout(() => {
      retry = undefined
      grow()
    }, backoffMs).unref()
  }

  /** Gives a connection to who waits longest, or keeps it. */
  const offer = (connection: OpenConnection): void => {
    if (connection.lost) return grow()
    if (closed || connection.incarnation !== incarnation) {
      void connection.close()
      return grow()
    }
    const waiter = waiters.next()
    if (!waiter) idle.push(connection)
    else {
      lent.add(connection)
      waiter(connection)
    }
  }

  /** A connection was lost: its place is free at once, whatever its borrower still does. */
  const forget = (connection: OpenConnection): void => {
    const at = idle.indexOf(connection)
    if (at >= 0) idle.splice(at, 1)
    else returned(connection)
    grow()
  }

  const returned = (connection: OpenConnection): void => {
    lent.delete(connection)
    if (lent.size === 0) drained?.()
  }

  const take = (timeoutMs: number): OpenConnection | Promise<OpenConnection> => {
    if (closed) throw new Refusal('overloaded', 'the pool is closed')
    const connection = idle.pop()
    if (connection) {
      lent.add(connection)
      return connection
    }
    const waiting = waiters.wait(
      timeoutMs,
      () => new Refusal('overloaded', `no database connection came free within ${timeoutMs} ms`),
    )
    grow()
    return waiting
  }

  const giveBack = (connection: OpenConnection): void => {
    // Whoever left a statement running does not get its answer, and nobody else may.
    if (connection.running > 0) connection.destroy()
    returned(connection)
    offer(connection)
  }

  return {
    use: async (work, { acquireTimeoutMs = settings.acquireTimeoutMs } = {}) => {
      const connection = await take(acquireTimeoutMs)
      const lease = lend(connection)
      try {
        return await work(lease)
      } finally {
        lease.end()
        giveBack(connection)
      }
    },
    get incarnation() {
      return incarnation
    },
    onIncarnation: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get size() {
      return size()
    },
    get waiting() {
      return waiters.size
    },
    max: settings.max,
    [Symbol.asyncDispose]: async () => {
      closed = true
      clearTimeout(retry)
      waiters.rejectAll(new Refusal('overloaded', 'the pool is closed'))
      await Promise.all(idle.splice(0).map((connection) => connection.close()))
      if (lent.size === 0) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, drainMs)
        drained = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      for (const connection of lent) connection.destroy()
    },
  }
}

/** No slot is free, or the server starts, or stops: asking again helps. */
const comesRight: ReadonlySet<string> = new Set(['53300', '57P03'])

/** The connection as its borrower sees it: useless once it is given back. */
const lend = (connection: OpenConnection): Connection & { end(): void } => {
  let ended = false
  return {
    query: (sql, parameters, options) =>
      ended
        ? Promise.reject(new Error('the connection was given back'))
        : connection.query(sql, parameters, options),
    get lost() {
      return connection.lost
    },
    end: () => {
      ended = true
    },
  }
}
