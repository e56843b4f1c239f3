import { AllEventsPage, ListAllEvents } from '../../../schema/http/all-events.ts'
import { readAll } from '../../log/read-all.ts'
import { envelopeText } from '../../log/read-events.ts'
import { allCursors, typesFilter } from '../all-cursor.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { limitOf } from '../page-limit.ts'
import { principalOf } from '../plugins/principal.ts'
import { allBySse, wantsSse } from '../sse/follow-by-sse.ts'
import type { App } from '../type-provider.ts'

export const addAllEventRoutes = (app: App, deps: RouteDeps): void => {
  const { pool, settings } = deps
  app.get(
    '/v1/events',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'A page of the events of all sessions',
        description:
          'In one order that all readers see. Begins at the start without `after`. A cursor of ' +
          'another log (one that was restored, say) is refused with `reset: true`.',
        querystring: ListAllEvents,
        response: { 200: AllEventsPage },
      },
    },
    async (request, reply) => {
      const { tenant } = principalOf(request)
      const { after } = request.query
      const types =
        request.query.types === undefined ? undefined : typesFilter(request.query.types.split(','))
      const wanted = {
        tenant,
        ...(after !== undefined && { after }),
        ...(types && { types }),
      }
      if (wantsSse(request)) return allBySse(deps, request, reply, wanted)
      const limit = limitOf(request.query, settings)
      const log = await incarnationOf(pool)
      const cursors = allCursors(tenant, types)
      const page = await readAll(pool, {
        tenant,
        afterPosition: cursors.positionIn(log, after),
        limit,
        ...(types && { types }),
      })
      const envelopes = page.events.map((row) => envelopeText(row.sessionId, row))
      const next = cursors.encode(log, page.position)
      reply.type('application/json; charset=utf-8')
      return `{"data":[${envelopes.join(',')}],"cursor":{"next":"${next}","previous":null}}`
    },
  )
}
