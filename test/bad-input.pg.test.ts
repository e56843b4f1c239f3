import t from 'tap'
import { buildApp } from '../services/api/build-app.ts'
import type { App } from '../services/api/type-provider.ts'
import { openLog } from '../services/log/open-log.ts'
import { readSettings } from '../services/settings.ts'
import { openStreams } from './harness/streams.ts'
import { openTestDatabase } from './harness/database.ts'
import {
  ofNoBody,
  ofNoInput,
  ofSync,
  ofTickets,
  ofTrees,
  times,
  withoutInput,
} from './harness/bad-bodiless.ts'
import { ofOwners, ofRequests, ofTurns } from './harness/bad-owners.ts'
import { particular } from './harness/bad-particulars.ts'
import {
  cursors,
  json,
  limits,
  ofEveryBody,
  ofEveryRead,
  type Bad,
} from './harness/bad-requests.ts'

/** Routes of the description that take input and for which the table has no row. */
const routesWithout = async (app: App, rows: readonly Bad[]): Promise<string[]> => {
  const { paths } = (await app.inject('/openapi.json')).json<{ paths: Record<string, object> }>()
  return Object.entries(paths).flatMap(([path, operations]) => {
    const form = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?|$)`)
    const tried = rows.filter(({ url }) => form.test(url)).map(({ method }) => method as string)
    return Object.keys(operations)
      .map((method) => method.toUpperCase())
      .filter((method) => !withoutInput.includes(path) && !tried.includes(method))
      .map((method) => `${method} ${path}`)
  })
}

t.test(
  'bad input on every route: a problem with its code and pointer, never a 500, nothing written',
  async (t) => {
    await using database = await openTestDatabase()
    const problems: unknown[] = []
    const report = (problem: unknown): void => void problems.push(problem)
    const log = openLog({ pool: database.pool, report })
    const { pool, url } = database
    await using streams = openStreams({ url, pool, log, report })
    const app = buildApp({ ...streams, pool, log, settings: readSettings({}), report })
    await app.inject({ method: 'POST', url: '/v1/sessions', payload: { sessionId: 'ses_1' } })
    const stored = async () =>
      JSON.stringify(
        await database.pool.use((connection) =>
          connection.query(
            `select (select count(*) from stemma.event) e, (select count(*) from stemma.name) n,
             (select count(*) from stemma.receipt) r, (select count(*) from stemma.session) s,
             (select max(head) from stemma.session) h,
             (select string_agg(o::text, ',' order by owner_id) from stemma.owner o) o`,
          ),
        ),
      )
    const before = await stored()
    const rows = [
      ...ofEveryBody,
      ...ofEveryRead,
      ...ofNoBody,
      ...ofNoInput,
      ...ofOwners,
      ...ofRequests,
      ...ofTurns,
      ...ofSync,
      ...ofTickets,
      ...ofTrees,
      ...times,
      ...limits,
      ...cursors,
      ...particular,
    ]
    for (const bad of rows) {
      const { method, url, body, raw, headers = {} } = bad
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const reply = await app.inject({
        method,
        url,
        headers: { ...(body !== undefined && json), ...headers },
        ...(payload !== undefined && { payload }),
      })
      const name = `${method} ${url.slice(0, 60)} ${String(payload ?? '').slice(0, 60)} ${JSON.stringify(headers).slice(0, 40)}`
      const problem = reply.json<{
        status?: number
        code?: string
        errors?: { pointer: string }[]
      }>()
      const found = {
        status: reply.statusCode,
        code: problem.code,
        ...(bad.pointer !== undefined && { pointer: problem.errors?.[0]?.pointer }),
      }
      const wanted = {
        status: bad.status,
        code: bad.code,
        ...(bad.pointer !== undefined && { pointer: bad.pointer }),
      }
      t.same(found, wanted, name)
      t.match(reply.headers['content-type'], /^application\/problem\+json/)
      t.equal(problem.status, reply.statusCode)
    }
    t.equal(await stored(), before, 'nothing was written')
    t.same(await routesWithout(app, rows), [], 'the table has rows for every route')
    t.same(problems, [], 'and nothing was our fault')
    await app.close()
    await log[Symbol.asyncDispose]()
  },
)
