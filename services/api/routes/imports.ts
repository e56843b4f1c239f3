import { Refusal } from '../../../schema/errors.ts'
import { idPattern } from '../../../schema/events/shapes.ts'
import { ImportEvents, ImportReply } from '../../../schema/http/imports.ts'
import { checkEvents } from '../check-events.ts'
import type { RouteDeps } from '../deps.ts'
import { setEtag } from '../plugins/if-match.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

export const addImportRoutes = (app: App, { log, settings }: RouteDeps): void => {
  app.post(
    '/v1/imports',
    {
      config: { scope: 'import' },
      schema: {
        summary: 'Bring in a session of another system, or what is new in it',
        description:
          'Events that are there are duplicates. A session of that id that did not come from that ' +
          'origin is `duplicate_id`.',
        body: ImportEvents,
        response: { 200: ImportReply },
      },
    },
    async (request, reply) => {
      const { origin, events } = request.body
      const sessionId = request.body.sessionId ?? ownId(origin.sessionId)
      const outcome = await log.execute({
        ...targetOf(request, { sessionId }),
        ...optionsOf(request),
        kind: 'import',
        origin,
        events: checkEvents(events, 'import', settings),
      })
      const { firstSeq, lastSeq, added, duplicates } = outcome
      setEtag(reply, outcome.headSeq)
      return { data: { sessionId, firstSeq, lastSeq, added, duplicates } }
    },
  )
}

const ownId = (sessionId: string): string => {
  if (new RegExp(idPattern).test(sessionId)) return sessionId
  throw new Refusal('invalid_id', "the origin's id is not an id of ours: give a sessionId", {
    faults: [{ pointer: '/origin/sessionId', detail: 'is not 1 to 128 of A-Z a-z 0-9 . _ : ~ -' }],
  })
}
