import { Refusal } from '../../../schema/errors.ts'
import { MessageReply } from '../../../schema/http/messages.ts'
import { RequestParams, SessionParams } from '../../../schema/http/params.ts'
import {
  AnswerRequest,
  CloseRequest,
  CloseRequestReply,
  PermissionsReply,
  type AnswerBody,
} from '../../../schema/http/requests.ts'
import { strict } from '../../../schema/events/shapes.ts'
import type { Answer } from '../../log/command.ts'
import { newId } from '../../log/new-id.ts'
import { readMessage } from '../../reads/read-messages.ts'
import { readPermissions } from '../../reads/read-permissions.ts'
import type { RouteDeps } from '../deps.ts'
import { checkEventSize } from '../new-event.ts'
import { setEtag } from '../plugins/if-match.ts'
import { principalOf } from '../plugins/principal.ts'
import { idFor, optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

/** What people say to requests, and what stands of it. */
export const addRequestRoutes = (app: App, { pool, log, settings }: RouteDeps): void => {
  app.post(
    '/v1/sessions/:sessionId/requests/:requestId/answer',
    {
      config: { scope: 'answer' },
      schema: {
        summary: 'Answer a request',
        description:
          '`answers` to a question, `decision` to a permission, `action` to an elicitation. The ' +
          'first answer wins; the same again gets the same row. Gives the row of the answer.',
        params: RequestParams,
        body: AnswerRequest,
        response: { 200: MessageReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { messageId, device, ...said } = request.body
      checkEventSize(said, settings.maxEventBytes)
      const { subject } = principalOf(request)
      const outcome = await log.execute({
        ...target,
        ...optionsOf(request),
        kind: 'answer-request',
        requestId: request.params.requestId,
        messageId: messageId ?? idFor(request, 'msg', target.sessionId),
        answer: answerOf(said),
        by: { subject, ...(device !== undefined && { device }) },
        eventId: newId('evt'),
      })
      const row = await readMessage(pool, target, outcome.answer!.messageId)
      setEtag(reply, row.asOfSeq)
      return row
    },
  )

  app.post(
    '/v1/sessions/:sessionId/requests/:requestId/close',
    {
      config: { scope: 'answer' },
      schema: {
        summary: 'Close a request without an answer',
        description: 'And say in which way: they are different things to the agent.',
        params: RequestParams,
        body: CloseRequest,
        response: { 200: CloseRequestReply },
      },
    },
    async (request, reply) => {
      const { requestId } = request.params
      const outcome = await log.execute({
        ...targetOf(request, request.params),
        ...optionsOf(request),
        ...request.body,
        kind: 'close-request',
        requestId,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      return { data: { requestId, status: 'closed', ...request.body } }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/permissions',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The decisions that stand',
        description: 'Given by `allow_always` and `reject_always`, and not revoked.',
        params: SessionParams,
        response: { 200: PermissionsReply },
      },
    },
    async (request, reply) => {
      const permissions = await readPermissions(pool, targetOf(request, request.params))
      setEtag(reply, permissions.asOfSeq)
      return permissions
    },
  )

  app.delete(
    '/v1/sessions/:sessionId/permissions/:requestId',
    {
      config: { scope: 'answer', bodyMayBeMissing: true },
      schema: {
        summary: 'Take a standing decision back',
        description: 'Named by the request that it answered; later requests are asked again.',
        params: RequestParams,
        body: strict({}),
        response: { 204: { type: 'null' } },
      },
    },
    async (request, reply) => {
      const outcome = await log.execute({
        ...targetOf(request, request.params),
        ...optionsOf(request),
        kind: 'revoke-permission',
        requestId: request.params.requestId,
        eventId: newId('evt'),
      })
      setEtag(reply, outcome.headSeq)
      return reply.code(204).send()
    },
  )
}

/** The answer of a body that holds one; whether it is to what was asked is the log's to say. */
const answerOf = (said: Omit<AnswerBody, 'messageId' | 'device'>): Answer => {
  const given = ([['answers'], ['decision', 'message'], ['action', 'content']] as const).filter(
    ([member]) => said[member] !== undefined,
  )
  const [members] = given
  if (members === undefined || given.length > 1) {
    throw invalid('', 'must hold one of answers, decision and action')
  }
  const stray = (['message', 'content'] as const).find(
    (member) => said[member] !== undefined && !(members as readonly string[]).includes(member),
  )
  if (stray) throw invalid(`/${stray}`, `must not be there: it does not go with ${members[0]}`)
  return said as Answer
}

const invalid = (pointer: string, detail: string): Refusal =>
  new Refusal('invalid_body', 'this is no answer', { faults: [{ pointer, detail }] })
