import { strict } from '../../../schema/events/shapes.ts'
import { SessionParams, TreeQuery } from '../../../schema/http/params.ts'
import { SessionReply } from '../../../schema/http/sessions.ts'
import type { CommandOptions, Target } from '../../log/command.ts'
import { newId } from '../../log/new-id.ts'
import { readSessionInfo } from '../../reads/session.ts'
import type { RouteDeps } from '../deps.ts'
import { forTree } from '../for-tree.ts'
import { newEvent } from '../new-event.ts'
import { setEtag } from '../plugins/if-match.ts'
import { optionsOf, targetOf } from '../target.ts'
import type { App } from '../type-provider.ts'

const Nothing = strict({})

/** Delete and restore, archive and unarchive. */
export const addSessionStateRoutes = (app: App, deps: RouteDeps): void => {
  const { pool, log, settings } = deps

  const remove = (target: Target, options: CommandOptions = {}): Promise<{ headSeq: number }> =>
    log.execute({ ...target, ...options, kind: 'delete', eventId: newId('evt') })

  app.delete(
    '/v1/sessions/:sessionId',
    {
      config: { scope: 'append', bodyMayBeMissing: true },
      schema: {
        summary: 'Delete a session',
        description: 'Ends a running turn first. What was deleted can be restored.',
        params: SessionParams,
        querystring: TreeQuery,
        body: Nothing,
        response: { 204: { type: 'null' } },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const options = optionsOf(request)
      const removeRoot = async (): Promise<void> => {
        setEtag(reply, (await remove(target, options)).headSeq)
      }
      if (request.query.tree === 'true') {
        await forTree(deps, target, {
          on: (member, isRoot) => (isRoot ? removeRoot() : remove(member)),
          already: ['session_deleted'],
        })
      } else await removeRoot()
      return reply.code(204).send()
    },
  )

  app.post(
    '/v1/sessions/:sessionId/restore',
    {
      config: { scope: 'append', bodyMayBeMissing: true },
      schema: {
        summary: 'Restore a deleted session',
        params: SessionParams,
        body: Nothing,
        response: { 200: SessionReply },
      },
    },
    async (request, reply) => {
      const target = targetOf(request, request.params)
      const options = optionsOf(request)
      await log.execute({ ...target, ...options, kind: 'restore', eventId: newId('evt') })
      const data = await readSessionInfo(pool, target)
      setEtag(reply, data.headSeq)
      return { data }
    },
  )

  for (const [action, type, summary] of [
    ['archive', 'session.archived', 'Take a session out of the list'],
    ['unarchive', 'session.unarchived', 'Put an archived session back into the list'],
  ] as const) {
    const write = (target: Target, options: CommandOptions = {}): Promise<unknown> =>
      log.execute({
        ...target,
        ...options,
        kind: 'append',
        events: [newEvent(type, {}, settings.maxEventBytes)],
      })

    app.post(
      `/v1/sessions/:sessionId/${action}`,
      {
        config: { scope: 'append', bodyMayBeMissing: true },
        schema: {
          summary,
          params: SessionParams,
          querystring: TreeQuery,
          body: Nothing,
          response: { 200: SessionReply },
        },
      },
      async (request, reply) => {
        const target = targetOf(request, request.params)
        const options = optionsOf(request)
        if (request.query.tree === 'true') {
          await forTree(deps, target, {
            on: (member, isRoot) => write(member, isRoot ? options : {}),
            already: ['wrong_state'],
          })
        } else await write(target, options)
        const data = await readSessionInfo(pool, target)
        setEtag(reply, data.headSeq)
        return { data }
      },
    )
  }
}
