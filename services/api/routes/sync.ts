import { mostSynced, Sync, SyncReply } from '../../../schema/http/sync.ts'
import { readSync } from '../../reads/sync.ts'
import type { RouteDeps } from '../deps.ts'
import { principalOf } from '../plugins/principal.ts'
import { problemOf } from '../plugins/problem-of.ts'
import type { App } from '../type-provider.ts'

export const addSyncRoutes = (app: App, { pool }: RouteDeps): void => {
  app.post(
    '/v1/sync',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'Bring copies of sessions up to date',
        description:
          `Of up to ${mostSynced} sessions, from one snapshot: what is open, and the messages that ` +
          'have changed since the seq that the host has. One that is deleted or not there is an ' +
          'entry with an error. Writes nothing.',
        body: Sync,
        response: { 200: SyncReply },
      },
    },
    async (request, reply) => {
      const { sessions, log: given } = request.body
      const { tenant } = principalOf(request)
      const { entries, log } = await readSync(pool, tenant, sessions, given)
      const texts = entries.map((entry) =>
        'text' in entry
          ? entry.text
          : JSON.stringify({
              sessionId: entry.sessionId,
              error: problemOf(entry.refusal, false).problem,
            }),
      )
      reply.type('application/json; charset=utf-8')
      return `{"data":[${texts.join(',')}],"log":${JSON.stringify(log)}}`
    },
  )
}
