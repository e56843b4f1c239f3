import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../../schema/errors.ts'
import { inSnapshot } from '../../reads/in-snapshot.ts'
import { followAll } from '../../streams/follow-all.ts'
import { followSession } from '../../streams/follow-session.ts'
import type { Target } from '../../log/command.ts'
import { stillAllowed } from '../access/still-allowed.ts'
import { allCursors } from '../all-cursor.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import { principalOf } from '../plugins/principal.ts'
import { serveSse } from './serve-sse.ts'

type Request = Pick<FastifyRequest, 'headers' | 'raw'>
type Reply = Pick<FastifyReply, 'hijack' | 'raw' | 'getHeaders'>

/** Whether the client asks for server-sent events. */
export const wantsSse = ({ headers }: Request): boolean =>
  /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(headers.accept ?? '')

/** Follows one session. Refusals that can be made are made before the stream begins. */
export const sessionBySse = async (
  deps: RouteDeps,
  request: Request,
  reply: Reply,
  target: Target,
  query: { readonly afterSeq?: number; readonly log?: string },
): Promise<void> => {
  const { pool, feeds, live } = deps
  const afterSeq = lastSeqOf(request) ?? query.afterSeq ?? 0
  await inSnapshot(pool, target, async () => {})
  checkRoom(deps)
  const isAllowed = (): Promise<boolean> =>
    stillAllowed(deps.authenticate, request, principalOf(request))
  reply.hijack()
  await serveSse(reply.raw, headersOf(reply), deps, isAllowed, async (sink, signal) => {
    sink.caughtUpAt((at) => {
      const detach = live.attach(target, 'seq' in at ? at.seq : 0, sink.live)
      signal.addEventListener('abort', detach)
    })
    await followSession(
      feeds,
      target,
      { afterSeq, ...(query.log !== undefined && { log: query.log }) },
      sink,
      signal,
    )
  })
}

/** Follows all sessions of a tenant. */
export const allBySse = async (
  deps: RouteDeps,
  request: Request,
  reply: Reply,
  query: {
    readonly tenant: number
    readonly after?: string
    readonly types?: readonly string[]
  },
): Promise<void> => {
  const { pool, log } = deps
  const { tenant, types } = query
  const of = await incarnationOf(pool)
  const cursors = allCursors(tenant, types)
  const after = lastEventId(request) ?? query.after
  const place = after === undefined ? { log: of, position: 0 } : cursors.decode(after)
  checkRoom(deps)
  const isAllowed = (): Promise<boolean> =>
    stillAllowed(deps.authenticate, request, principalOf(request))
  reply.hijack()
  await serveSse(reply.raw, headersOf(reply), deps, isAllowed, async (sink, signal) => {
    if (place.log !== of) return sink.reset({ reason: 'other_log', oldestSeq: 1 })
    const cursorOf = (position: number): string => cursors.encode(of, position)
    await followAll(
      { pool, log },
      { tenant, afterPosition: place.position, log: of, cursorOf, ...(types && { types }) },
      sink,
      signal,
    )
  })
}

const checkRoom = ({ outlets, settings }: RouteDeps): void => {
  if (outlets.size < settings.maxSockets) return
  throw new Refusal('overloaded', `${outlets.size} streams are open on this server`)
}

const lastEventId = ({ headers }: Request): string | undefined => {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** A browser that comes back says the last id that it saw; it is newer than the query. */
const lastSeqOf = (request: Request): number | undefined => {
  const id = lastEventId(request)
  if (id === undefined) return undefined
  const seq = /^(0|[1-9]\d{0,15})$/.test(id) ? Number(id) : Number.NaN
  if (!Number.isSafeInteger(seq)) {
    throw new Refusal('invalid_header', 'Last-Event-ID is no seq')
  }
  return seq
}

const headersOf = (reply: Reply): Record<string, string> =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  )
