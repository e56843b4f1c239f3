import { SayLive, SayLiveReply } from '../../../schema/http/live.ts'
import { SessionParams } from '../../../schema/http/params.ts'
import type { RouteDeps } from '../deps.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

export const addLiveRoutes = (app: App, { live }: RouteDeps): void => {
  app.post(
    '/v1/sessions/:sessionId/live',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Say what parts are saying',
        description:
          'Passed on to who subscribes to this server, and never stored. Frames of a turn need its ' +
          'turnId and fence. Up to the first that is refused, frames are passed on.',
        params: SessionParams,
        body: SayLive,
        response: { 200: SayLiveReply },
      },
    },
    async (request) => {
      const target = targetOf(request, request.params)
      // Nothing is stored that could be answered again; a header that is none is refused all the same.
      optionsOf(request)
      const resync = new Map<string, { messageId: string; partId: string }>()
      for (const frame of request.body.frames) {
        const { messageId, partId } = frame
        const { gap } = await live.receive(target, frame)
        if (gap) resync.set(`${messageId}/${partId}`, { messageId, partId })
        else resync.delete(`${messageId}/${partId}`)
      }
      return { data: { resync: [...resync.values()] } }
    },
  )
}
