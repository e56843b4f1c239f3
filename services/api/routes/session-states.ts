import { strict } from '../../../schema/events/shapes.ts'
import { SessionParams } from '../../../schema/http/params.ts'
import { SessionReply } from '../../../schema/http/sessions.ts'
import { newId } from '../../log/new-id.ts'
import { readSessionInfo } from '../../reads/session.ts'
import type { RouteDeps } from '../deps.ts'
import { newEvent } from '../new-event.ts'
import { setEtag } from '../plugins/if-match.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { AnyRequest, App } from '../type-provider.ts'

const Nothing = strict({})

/** Delete and restore, archive and unarchive. */
export const addSessionStateRoutes = (app: App, { pool, log, settings }: RouteDeps): void => {
  app.delete(
    '/v1/sessions/:sessionId',
    {
      config: { scope: 'append', bodyMayBeMissing: true },
      schema: {
        summary: 'Delete a session',
        description: 'Ends a running turn first. What was deleted can be restored.',
        params: SessionParams,
        body: Nothing,
        response: { 204: { type: 'null' } },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { headSeq } = await log.execute({
        ...target,
        ...optionsOf(request),
        kind: 'delete',
        eventId: newId('evt'),
      })
      setEtag(reply, headSeq)
      return reply.code(204).send()
    },
  )

  const post = (
    action: 'restore' | 'archive' | 'unarchive',
    summary: string,
    write: (request: AnyRequest, sessionId: string) => Promise<unknown>,
  ): void => {
    app.post(
      `/v1/sessions/:sessionId/${action}`,
      {
        config: { scope: 'append', bodyMayBeMissing: true },
        schema: {
          summary,
          params: SessionParams,
          body: Nothing,
          response: { 200: SessionReply },
        },
      },
      async (request, reply) => {
        await write(request, request.params.sessionId)
        const data = await readSessionInfo(pool, targetOf(request, request.params))
        setEtag(reply, data.headSeq)
        return { data }
      },
    )
  }

  post('restore', 'Restore a deleted session', (request, sessionId) =>
    log.execute({
      ...targetOf(request, { sessionId }),
      ...optionsOf(request),
      kind: 'restore',
      eventId: newId('evt'),
    }),
  )

  for (const [action, type, summary] of [
    ['archive', 'session.archived', 'Take a session out of the list'],
    ['unarchive', 'session.unarchived', 'Put an archived session back into the list'],
  ] as const) {
    post(action, summary, (request, sessionId) =>
      log.execute({
        ...targetOf(request, { sessionId }),
        ...optionsOf(request),
        kind: 'append',
        events: [newEvent(type, {}, settings.maxEventBytes)],
      }),
    )
  }
}
