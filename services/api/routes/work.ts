import { ListWork, WorkPage } from '../../../schema/http/work.ts'
import type { WorkCursor, WorkMark } from '../../reads/list-work.ts'
import { decodeCursor, encodeCursor, type CursorScope } from '../cursors.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { limitOf } from '../page-limit.ts'
import { principalOf } from '../plugins/principal.ts'
import type { App } from '../type-provider.ts'
import { waitForWork } from '../wait-for-work.ts'

/** What waits for an owner. */
export const addWorkRoutes = (app: App, deps: RouteDeps): void => {
  const { pool, settings } = deps
  app.get(
    '/v1/work',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'What waits for an owner',
        description:
          'Inputs and answers in sessions without an active turn, and turns that may be claimed. ' +
          'Without `after` all of it; with the `cursor.next` of an earlier reply what has become ' +
          'work since. What has gone and come back is given again.',
        querystring: ListWork,
        response: { 200: WorkPage },
      },
    },
    async (request) => {
      const { tenant } = principalOf(request)
      const { after, waitMs = 0, limit: _, ...filters } = request.query
      const scope: CursorScope = {
        route: `GET /v1/work of ${await incarnationOf(pool)}`,
        tenant,
        filters,
      }
      const gone = new AbortController()
      request.raw.once('close', () => gone.abort())
      const page = await waitForWork(
        deps,
        {
          tenant,
          limit: limitOf(request.query, settings),
          ...filters,
          cursor: after === undefined ? {} : cursorOf(decodeCursor(scope, after)),
        },
        { waitMs, signal: AbortSignal.any([gone.signal, deps.stopping]) },
      )
      return {
        data: page.data,
        cursor: { next: encodeCursor(scope, placeOf(page.next)), previous: null },
      }
    },
  )
}

type Place = readonly (string | number)[]

const placeOf = ({ since, walk }: WorkCursor): Place => [
  ...(since ? membersOf(since) : [-1, -1, '']),
  ...(walk ? [...membersOf(walk.at), walk.sid, walk.seq] : []),
]

const membersOf = ({ position, gone: { floor, digests } }: WorkMark): Place => [
  position,
  floor,
  digests.join(','),
]

const cursorOf = (place: Place): WorkCursor => {
  const [sid, seq] = place.slice(6)
  const since = markOf(place)
  return {
    ...(since.position >= 0 && { since }),
    ...(sid !== undefined && {
      walk: { at: markOf(place.slice(3)), sid: Number(sid), seq: Number(seq) },
    }),
  }
}

const markOf = ([position, floor, digests]: Place): WorkMark => ({
  position: Number(position),
  gone: { floor: Number(floor), digests: String(digests).split(',') },
})
