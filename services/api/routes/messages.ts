import { ContextReply, ReadContext } from '../../../schema/http/context.ts'
import { ListMessages, MessageReply, MessagesPage } from '../../../schema/http/messages.ts'
import { MessageParams, SessionParams } from '../../../schema/http/params.ts'
import { readContext } from '../../reads/read-context.ts'
import { readMessage, readMessages } from '../../reads/read-messages.ts'
import { decodeCursor, encodeCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { limitOf } from '../page-limit.ts'
import { setEtag } from '../plugins/if-match.ts'
import { targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

export const addMessageRoutes = (app: App, { pool, settings, onLongTail }: RouteDeps): void => {
  app.get(
    '/v1/sessions/:sessionId/messages',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'A page of the transcript',
        description: 'Messages ascend by their place; `order=desc` turns them.',
        params: SessionParams,
        querystring: ListMessages,
        response: { 200: MessagesPage },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const limit = limitOf(request.query, settings)
      const { cursor, order = 'asc', include, atSeq } = request.query
      const scope: CursorScope = {
        route: 'GET /v1/sessions/{sessionId}/messages',
        ...target,
        filters: { order, include, atSeq },
      }
      const from = cursor === undefined ? undefined : decodeCursor(scope, cursor)
      const back = from?.[0] === 'previous'
      const page = await readMessages(
        pool,
        target,
        {
          limit,
          order: (order === 'asc') === back ? 'desc' : 'asc',
          ...(from && { after: Number(from[1]) }),
          ...(include && { includeHidden: true }),
          ...(atSeq !== undefined && { atSeq }),
        },
        onLongTail,
      )
      // A page that was read backwards is turned, and so are its ends.
      const data = back ? page.data.toReversed() : page.data
      const more = page.next !== undefined
      const cursorAt = (direction: 'next' | 'previous', there: boolean): string | null => {
        const seq = data.at(direction === 'next' ? -1 : 0)?.seq
        return there && seq !== undefined ? encodeCursor(scope, [direction, seq]) : null
      }
      setEtag(reply, page.asOfSeq)
      return {
        data,
        cursor: {
          next: cursorAt('next', back || more),
          previous: cursorAt('previous', back ? more : from !== undefined),
        },
        asOfSeq: page.asOfSeq,
        ...(page.stalled && { stalled: page.stalled }),
        ...(page.fold && { fold: page.fold }),
      }
    },
  )

  app.get(
    '/v1/sessions/:sessionId/messages/:messageId',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'One message, also one that is hidden',
        params: MessageParams,
        response: { 200: MessageReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const message = await readMessage(pool, target, request.params.messageId)
      setEtag(reply, message.asOfSeq)
      return message
    },
  )

  app.get(
    '/v1/sessions/:sessionId/context',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'What a model should see next',
        description:
          'After the last compaction; an assistant message, then the results of its calls, then ' +
          'what came later. `leftOut` says what is not there, and why; `changed` what is not as ' +
          'it was written, because providers would refuse it.',
        params: SessionParams,
        querystring: ReadContext,
        response: { 200: ContextReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const { asOfSeq, ...data } = await readContext(pool, target, request.query)
      setEtag(reply, asOfSeq)
      return { data, asOfSeq }
    },
  )
}
