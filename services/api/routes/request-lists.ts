import { ListRequests, RequestsPage } from '../../../schema/http/request-lists.ts'
import { Refusal } from '../../../schema/errors.ts'
import { listRequests } from '../../reads/list-requests.ts'
import { allCursors } from '../all-cursor.ts'
import { decodeCursor, encodeCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { limitOf } from '../page-limit.ts'
import { principalOf } from '../plugins/principal.ts'
import type { App } from '../type-provider.ts'

/** What people were asked, across sessions. */
export const addRequestListRoutes = (app: App, { pool, settings }: RouteDeps): void => {
  app.get(
    '/v1/requests',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'Requests of all sessions',
        description:
          'Newest first, each once; `status=open` for those that wait. Those of deleted sessions ' +
          'are not listed. Follow from `asOf` of the first page, and nothing is lost between.',
        querystring: ListRequests,
        response: { 200: RequestsPage },
      },
    },
    async (request) => {
      const { tenant } = principalOf(request)
      const { cursor, limit: _, tree, ...filters } = request.query
      if (tree !== undefined && filters.sessionId === undefined) {
        throw new Refusal('invalid_query', 'a tree is of a session', {
          faults: [{ pointer: '/sessionId', detail: 'must be there when tree is' }],
        })
      }
      const log = await incarnationOf(pool)
      const scope: CursorScope = {
        route: `GET /v1/requests of ${log}`,
        tenant,
        filters: { ...filters, tree },
      }
      const page = await listRequests(pool, {
        tenant,
        limit: limitOf(request.query, settings),
        tree: tree === 'true',
        ...filters,
        ...(cursor !== undefined && { before: Number(decodeCursor(scope, cursor)[0]) }),
      })
      return {
        data: page.data,
        cursor: {
          next: page.next === undefined ? null : encodeCursor(scope, [page.next]),
          previous: null,
        },
        asOf: allCursors(tenant, undefined).encode(log, page.asOf),
      }
    },
  )
}
