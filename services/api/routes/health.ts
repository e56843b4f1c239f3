import { Type } from 'typebox'
import { Refusal } from '../../../schema/errors.ts'
import { reply as object } from '../../../schema/http/page.ts'
import { checkSchema } from '../../database/migrate.ts'
import type { RouteDeps } from '../deps.ts'
import type { Metrics } from '../metrics.ts'
import type { App } from '../type-provider.ts'

/** An age of the poller's last success beyond this says that something is wrong. */
const horizonMayBeOldMs = 5_000
const acquireTimeoutMs = 1_000

/** For whoever runs the server: open to anybody, and saying nothing of what is stored. */
export const addHealthRoutes = (app: App, { pool, log }: RouteDeps, metrics: Metrics): void => {
  app.get(
    '/livez',
    {
      schema: {
        summary: 'Whether the process runs',
        querystring: {},
        response: { 200: object({ status: Type.Literal('live') }) },
      },
    },
    async () => ({ status: 'live' }),
  )

  app.get(
    '/readyz',
    {
      schema: {
        summary: 'Whether the server can serve',
        description:
          'The database answers, its schema may be written by this build, and the order of all ' +
          'events was read a moment ago.',
        querystring: {},
        response: { 200: object({ status: Type.Literal('ready') }) },
      },
    },
    async () => {
      await pool.use((connection) => connection.query('select 1'), { acquireTimeoutMs })
      const schema = await checkSchema(pool)
      if (!schema.mayWrite) {
        throw new Refusal('schema_newer', 'this build must not write to the schema as it is', {
          members: { schemaVersion: schema.version, oldestWriter: schema.oldestWriter },
        })
      }
      const age = Date.now() - log.horizon.lastSuccessAt
      if (age > horizonMayBeOldMs) {
        throw new Refusal('overloaded', 'the order of all events has not been read for a while')
      }
      return { status: 'ready' }
    },
  )

  app.get(
    '/metrics',
    {
      schema: {
        summary: 'Counters, as Prometheus reads them',
        querystring: {},
        response: { 200: { content: { 'text/plain': { schema: Type.String() } } } },
      },
    },
    async (_request, response) => {
      response.type('text/plain; version=0.0.4; charset=utf-8')
      return metrics.text()
    },
  )
}
