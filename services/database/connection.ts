import { createConnection, type Socket } from 'node:net'
import postgres from 'postgres'
import { greet } from './greet.ts'
import { UnsafeInteger, wireTypes } from './wire-types.ts'

export type Row = Record<string, unknown>

/** One connection, lent by the pool. Statements on it run one after another. */
export interface Connection {
  /**
   * Runs one statement. Parameters ($1 …) are text, numbers, booleans or null; arrays go as `{…}`
   * literals or joined text, cast in SQL. int8 arrives as a number, json as text, timestamptz as
   * ISO 8601 in UTC, arrays as text. With parameters, even none (`[]`), the statement is prepared
   * once per connection; without the argument it is sent as it is. `timeoutMs` is how long this side
   * waits: after it the connection is thrown away. Throws DatabaseError or ConnectionLost.
   */
  query<R extends Row = Row>(
    sql: string,
    parameters?: readonly unknown[],
    options?: { readonly timeoutMs?: number },
  ): Promise<R[]>
  /** Once true, nothing is sent any more and every statement rejects. */
  readonly lost: boolean
}

/** The connection ended. What became of the statement that was running, nobody knows. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

type About = {
  constraint?: string | undefined
  table?: string | undefined
  detail?: string | undefined
}

/** The server refused the statement; `code` is its SQLSTATE. Decide by that, never by the message. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  readonly code: string
  readonly constraint: string | undefined
  readonly table: string | undefined
  readonly detail: string | undefined

  constructor(code: string, message: string, about: About = {}) {
    super(message)
    this.code = code
    this.constraint = about.constraint
    this.table = about.table
    this.detail = about.detail
  }
}

export type ConnectionSettings = {
  readonly url: string
  readonly applicationName: string
  readonly statementTimeoutMs: number
  readonly connectTimeoutMs: number
  /** Told of what arrives on channels that were listened to. */
  readonly onNotify?: (channel: string, payload: string) => void
}

/** What the pool knows of a connection beyond `Connection`. */
export interface OpenConnection extends Connection {
  /** Which log this is: system identifier, timeline, database. */
  readonly incarnation: string
  /** Statements sent and not answered. */
  readonly running: number
  /** Lets the process end while this is all that is open. */
  unref(): void
  /** Throws the connection away at once. */
  destroy(): void
  /** Says goodbye to the server, and resolves when the socket is closed. */
  close(): Promise<void>
}

/** How long the answer may take beyond the server's own time limit before the line counts as dead. */
export const graceMs = 5_000

/**
 * Opens one connection: a Postgres.js client of its own, thrown away on any close. Postgres.js
 * reconnects inside a transaction and leaves promises unsettled when the server closes, so here a
 * second socket is refused, and every statement races the socket's end and a time limit. `onLost` is
 * called once, when it is lost or closed.
 */
export const connect = async (
  settings: ConnectionSettings,
  onLost: () => void = () => {},
): Promise<OpenConnection> => {
  const pending = new Set<(error: ConnectionLost) => void>()
  let socket: Socket | undefined
  let loss: string | undefined

  const lose = (reason: string): void => {
    if (loss !== undefined) return
    loss = reason
    socket?.destroy()
    for (const reject of pending) reject(new ConnectionLost(reason))
    onLost()
  }

  /** Options that Postgres.js takes and its types do not name. */
  const untyped = {
    no_subscribe: true,
    onnotify: settings.onNotify,
    socket: (target: Target): Promise<Socket> => {
      if (socket || loss !== undefined) throw new ConnectionLost('a connection opens once')
      socket = dial(target)
      socket.on('error', (error) => lose(error.message))
      socket.on('close', () => lose('the server closed the connection'))
      return connected(socket)
    },
  }

  const client = postgres(settings.url, {
    max: 1,
    fetch_types: false,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 0,
    backoff: () => 0.05,
    types: wireTypes,
    connection: { application_name: settings.applicationName },
    onnotice: () => {},
    onclose: () => lose('the server closed the connection'),
    ...untyped,
  })

  const query = <R extends Row>(
    sql: string,
    parameters?: readonly unknown[],
    { timeoutMs = settings.statementTimeoutMs + graceMs }: { readonly timeoutMs?: number } = {},
  ): Promise<R[]> =>
    new Promise((resolve, reject) => {
      if (loss !== undefined) return reject(new ConnectionLost(loss))
      const values = parameters ?? []
      if (!areSendable(values)) return reject(new TypeError('a parameter is undefined'))
      const fail = (error: unknown): void => {
        done()
        reject(error)
      }
      const timer = setTimeout(() => lose(`no answer within ${timeoutMs} ms`), timeoutMs)
      const done = (): void => {
        clearTimeout(timer)
        pending.delete(fail)
      }
      pending.add(fail)
      client.unsafe<R[]>(sql, [...values], parameters ? prepared : simple).then(
        (rows) => {
          done()
          resolve(rows.slice())
        },
        (error: unknown) => {
          const known = translate(error)
          if (known instanceof ConnectionLost) lose(known.message)
          fail(known)
        },
      )
    })

  const opening = setTimeout(
    () => lose(`no connection within ${settings.connectTimeoutMs} ms`),
    settings.connectTimeoutMs,
  )
  try {
    const incarnation = await greet(query, settings.statementTimeoutMs)
    return {
      query,
      incarnation,
      get lost() {
        return loss !== undefined
      },
      get running() {
        return pending.size
      },
      unref: () => socket?.unref(),
      destroy: () => lose('the connection was thrown away'),
      close: async () => {
        if (loss === undefined) await client.end({ timeout: 1 })
        lose('the connection was closed')
      },
    }
  } catch (error) {
    lose('the connection was not opened')
    throw error
  } finally {
    clearTimeout(opening)
  }
}

/** Postgres.js finds an undefined one too late, and rejects the statement that runs at the moment. */
const areSendable = (values: readonly unknown[]): values is readonly (string | null)[] =>
  !values.includes(undefined)

const prepared = { prepare: true, simple: false }
const simple = { prepare: false, simple: true }

/** What Postgres.js makes of the URL: lists, of which we take the first. */
type Target = { readonly path: string | false; readonly host: string[]; readonly port: number[] }

const dial = ({ path, host, port }: Target): Socket => {
  const socket = createConnection(path ? { path } : { host: host[0]!, port: port[0]! })
  socket.setNoDelay(true)
  // Postgres.js takes the name for TLS from here.
  return Object.assign(socket, { host: host[0], port: port[0] })
}

const connected = (socket: Socket): Promise<Socket> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })

/** A server that ends the session with its answer (shutdown, kill) leaves the outcome unknown, too. */
const translate = (error: unknown): unknown => {
  if (error instanceof postgres.PostgresError) {
    if (isFatal(error.severity) && !isRefusedAtDoor(error.code)) {
      return new ConnectionLost(error.message)
    }
    return new DatabaseError(error.code, error.message, {
      constraint: error.constraint_name,
      table: error.table_name,
      detail: error.detail,
    })
  }
  if (error instanceof UnsafeInteger || error instanceof ConnectionLost) return error
  return new ConnectionLost(error instanceof Error ? error.message : String(error))
}

const isFatal = (severity: string): boolean => severity === 'FATAL' || severity === 'PANIC'

/** Fatal before anything ran: bad password or role, no such database, no slot free, starting up. */
const isRefusedAtDoor = (code: string): boolean =>
  code.startsWith('28') || code === '3D000' || code === '53300' || code === '57P03'
