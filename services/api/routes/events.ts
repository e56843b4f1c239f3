import { AppendEvents, AppendReply, EventsPage, ListEvents } from '../../../schema/http/events.ts'
import { SessionParams } from '../../../schema/http/params.ts'
import { envelopeText, readEvents } from '../../log/read-events.ts'
import { inSnapshot } from '../../reads/in-snapshot.ts'
import { appendEvents } from '../append-events.ts'
import type { RouteDeps } from '../deps.ts'
import { limitOf } from '../page-limit.ts'
import { setEtag } from '../plugins/if-match.ts'
import { sessionBySse, wantsSse } from '../sse/follow-by-sse.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

export const addEventRoutes = (app: App, deps: RouteDeps): void => {
  const { pool, settings } = deps
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
      const { data, headSeq } = await appendEvents(
        deps,
        targetOf(request, request.params),
        request.body,
        optionsOf(request),
      )
      setEtag(reply, headSeq)
      return { data }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/events',
    {
      config: { scope: 'read' },
      schema: {
        summary: "A page of a session's events",
        description:
          'In order of seq. The end is reached when the last seq is `asOfSeq`. With ' +
          '`Accept: text/event-stream` the events after `afterSeq` (or `Last-Event-ID`) and then ' +
          'what is appended, as server-sent events.',
        params: SessionParams,
        querystring: ListEvents,
        response: { 200: EventsPage },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      if (wantsSse(request)) return sessionBySse(deps, request, reply, target, request.query)
      const limit = limitOf(request.query, settings)
      const { afterSeq = 0 } = request.query
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
