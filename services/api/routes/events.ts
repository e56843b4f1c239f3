import { Refusal } from '../../../schema/errors.ts'
import { AppendEvents, AppendReply, EventsPage, ListEvents } from '../../../schema/http/events.ts'
import { SessionParams } from '../../../schema/http/params.ts'
import { envelopeText, readEvents } from '../../log/read-events.ts'
import { inSnapshot } from '../../reads/in-snapshot.ts'
import { checkEvents } from '../check-events.ts'
import type { RouteDeps } from '../deps.ts'
import { limitOf } from '../page-limit.ts'
import { setEtag } from '../plugins/if-match.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

export const addEventRoutes = (app: App, { pool, log, settings }: RouteDeps): void => {
  app.post(
    '/v1/sessions/:sessionId/events',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Append events',
        description:
          'All or none. An event id that is there with the same content is answered as a ' +
          'duplicate. Events of a turn need its turnId and fence.',
        params: SessionParams,
        body: AppendEvents,
        response: { 200: AppendReply },
      },
    },
    async (request, reply) => {
      const { events, ...held } = request.body
      checkHeld(held)
      const { firstSeq, lastSeq, headSeq, ...outcome } = await log.execute({
        ...targetOf(request, request.params),
        ...optionsOf(request),
        ...held,
        kind: 'append',
        events: checkEvents(events, 'append', settings),
      })
      setEtag(reply, headSeq)
      return { data: { firstSeq, lastSeq, headSeq, events: outcome.events } }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/events',
    {
      config: { scope: 'read' },
      schema: {
        summary: "A page of a session's events",
        description: 'In order of seq. The end is reached when the last seq is `asOfSeq`.',
        params: SessionParams,
        querystring: ListEvents,
        response: { 200: EventsPage },
      },
    },
    async (request, reply) => {
      const limit = limitOf(request.query, settings)
      const { afterSeq = 0 } = request.query
      const target = targetOf(request, request.params)
      const { rows, headSeq } = await inSnapshot(pool, target, async (connection, session) => ({
        headSeq: session.headSeq,
        rows: await readEvents(connection, session.sid, { afterSeq, limit }),
      }))
      setEtag(reply, headSeq)
      reply.type('application/json; charset=utf-8')
      const envelopes = rows.map((row) => envelopeText(target.sessionId, row))
      return `{"data":[${envelopes.join(',')}],"asOfSeq":${headSeq}}`
    },
  )
}

const checkHeld = ({ turnId, fence }: { turnId?: string; fence?: number }): void => {
  if ((turnId === undefined) === (fence === undefined)) return
  const missing = turnId === undefined ? 'turnId' : 'fence'
  throw new Refusal('invalid_body', 'turnId and fence are given together', {
    faults: [{ pointer: `/${missing}`, detail: 'must be there' }],
  })
}
