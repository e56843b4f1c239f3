import { buildApp } from '../../services/api/build-app.ts'
import type { ApiDeps } from '../../services/api/deps.ts'
import type { App } from '../../services/api/type-provider.ts'
import { openLog, type Log } from '../../services/log/open-log.ts'
import { startPulse } from '../../services/owners/start-pulse.ts'
import { readSettings } from '../../services/settings.ts'
import { openStreams } from './streams.ts'
import { openTestDatabase, type TestDatabase } from './database.ts'

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  /** What a test makes of it. */
  readonly body: never
}

/** The app on a database of its own, asked without a socket. */
export type TestApp = AsyncDisposable & {
  readonly app: App
  readonly log: Log
  readonly database: TestDatabase
  /** What was reported as our fault. */
  readonly reported: unknown[]
  /** A body that is a text or bytes is sent as it is, all else as JSON. */
  readonly call: (
    method: string,
    url: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
}

/** `database`: one that is shared with another app, and not dropped with this one. */
export const openTestApp = async (
  options: Partial<Pick<ApiDeps, 'settings' | 'authenticate'>> & {
    readonly database?: TestDatabase
  } = {},
): Promise<TestApp> => {
  const { database = await openTestDatabase(), settings = readSettings({}), ...more } = options
  const reported: unknown[] = []
  const report = (problem: unknown): void => void reported.push(problem)
  const log = openLog({ pool: database.pool, report })
  await log.horizon.ready
  const { pool } = database
  const pulse = startPulse({ pool, report })
  const { feeds, live, ...streams } = openStreams({ url: database.url, pool, log, report })
  const app = buildApp({ pool, log, feeds, live, settings, report, ...more })
  return {
    app,
    log,
    database,
    reported,
    call: async (method, url, body, headers = {}) => {
      const payload =
        body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
          ? body
          : JSON.stringify(body)
      const reply = await app.inject({
        method: method as 'GET',
        url,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(payload !== undefined && { payload }),
      })
      const json = String(reply.headers['content-type']).includes('json') && reply.body !== ''
      return {
        status: reply.statusCode,
        headers: reply.headers,
        text: reply.body,
        body: (json ? reply.json() : undefined) as never,
      }
    },
    [Symbol.asyncDispose]: async () => {
      await app.close()
      await pulse[Symbol.asyncDispose]()
      await streams[Symbol.asyncDispose]()
      await log[Symbol.asyncDispose]()
      if (!options.database) await database[Symbol.asyncDispose]()
    },
  }
}
