import { Refusal } from '../../../schema/errors.ts'
import { foreignType, isKnownType } from '../../../schema/events/event-table.ts'
import { AllEventsPage, ListAllEvents } from '../../../schema/http/all-events.ts'
import { readAll } from '../../log/read-all.ts'
import { envelopeText } from '../../log/read-events.ts'
import { decodeCursor, encodeCursor, invalidCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { limitOf } from '../page-limit.ts'
import { principalOf } from '../plugins/principal.ts'
import type { App } from '../type-provider.ts'

export const addAllEventRoutes = (app: App, { pool, settings }: RouteDeps): void => {
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
      const limit = limitOf(request.query, settings)
      const { tenant } = principalOf(request)
      const { after } = request.query
      const types = typesOf(request.query.types)
      const incarnation = await incarnationOf(pool)
      const scope: CursorScope = {
        route: 'GET /v1/events',
        tenant,
        filters: { types: types?.join(',') },
      }
      const [of, place] = after === undefined ? [incarnation, 0] : decodeCursor(scope, after)
      if (of !== incarnation) {
        throw invalidCursor('the cursor belongs to another log than this one', { reset: true })
      }
      const page = await readAll(pool, {
        tenant,
        afterPosition: Number(place),
        limit,
        ...(types && { types }),
      })
      const envelopes = page.events.map((row) => envelopeText(row.sessionId, row))
      const next = encodeCursor(scope, [incarnation, page.position])
      reply.type('application/json; charset=utf-8')
      return `{"data":[${envelopes.join(',')}],"cursor":{"next":"${next}","previous":null}}`
    },
  )
}

const typesOf = (text: string | undefined): readonly string[] | undefined => {
  if (text === undefined) return undefined
  const types = [...new Set(text.split(','))].toSorted()
  const unknown = types.find((type) => !isKnownType(type) && !foreignType.test(type))
  if (unknown === undefined) return types
  throw new Refusal('unknown_type', `there are no events of type ${unknown}`, {
    faults: [{ pointer: '/types', detail: `${unknown} is not known` }],
  })
}
