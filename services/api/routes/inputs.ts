import type { EventData } from '../../../schema/events/event-table.ts'
import { AdmitInput, ChangeInput, InputReply, InputsReply } from '../../../schema/http/inputs.ts'
import { MessageParams, SessionParams } from '../../../schema/http/params.ts'
import { strict } from '../../../schema/events/shapes.ts'
import { newId } from '../../log/new-id.ts'
import { readInputs } from '../../reads/read-inputs.ts'
import type { RouteDeps } from '../deps.ts'
import { newEvent } from '../new-event.ts'
import { setEtag } from '../plugins/if-match.ts'
import { readInput } from '../read-input.ts'
import { idFor, optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

export const addInputRoutes = (app: App, { pool, log, settings }: RouteDeps): void => {
  app.post(
    '/v1/sessions/:sessionId/inputs',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Admit an input',
        description:
          'It waits until a turn takes it up. `kind` is `prompt` and `delivery` is `queue` by ' +
          'default; a prompt needs text or files.',
        params: SessionParams,
        body: AdmitInput,
        response: { 201: InputReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { onlyIfIdle, ...given } = request.body
      const data: EventData<'input.admitted'> = {
        kind: 'prompt',
        delivery: 'queue',
        ...given,
        messageId: given.messageId ?? idFor(request, 'msg', target.sessionId),
      }
      const outcome = await log.execute({
        ...target,
        ...optionsOf(request),
        kind: 'admit',
        event: newEvent('input.admitted', data, settings.maxEventBytes),
        ...(onlyIfIdle !== undefined && { onlyIfIdle }),
      })
      setEtag(reply, outcome.headSeq)
      reply.code(201)
      return { data: await readInput(pool, target, data.messageId) }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/inputs',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The inputs that wait',
        params: SessionParams,
        response: { 200: InputsReply },
      },
    },
    async (request, reply) => {
      const inputs = await readInputs(pool, targetOf(request, request.params))
      setEtag(reply, inputs.asOfSeq)
      return inputs
    },
  )

  app.patch(
    '/v1/sessions/:sessionId/inputs/:messageId',
    {
      config: { scope: 'append' },
      schema: {
        summary: 'Change how a waiting input is delivered',
        params: MessageParams,
        body: ChangeInput,
        response: { 200: InputReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { messageId } = request.params
      const { delivery } = request.body
      const outcome = await log.execute({
        ...target,
        ...optionsOf(request),
        kind: 'change-input',
        messageId,
        delivery,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      return { data: { ...(await readInput(pool, target, messageId)), delivery } }
    },
  )

  app.delete(
    '/v1/sessions/:sessionId/inputs/:messageId',
    {
      config: { scope: 'append', bodyMayBeMissing: true },
      schema: {
        summary: 'Cancel a waiting input',
        params: MessageParams,
        body: strict({}),
        response: { 204: { type: 'null' } },
      },
    },
    async (request, reply) => {
      const outcome = await log.execute({
        ...targetOf(request, request.params),
        ...optionsOf(request),
        kind: 'cancel-input',
        messageId: request.params.messageId,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      return reply.code(204).send()
    },
  )
}
