import { sql } from 'kysely'
import { rowKey, type Entry, type Lists } from '../../projections/lists/fold-lists.ts'
import { requestTypes } from '../../projections/requests/fold.ts'
import type { RequestRow } from '../../projections/requests/request-row.ts'
import { plainText } from '../../projections/sessions/plain-text.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Connection } from '../database/connection.ts'
import { kyselyOn } from '../database/kysely-dialect.ts'
import { numberList } from '../database/lists.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { Refusal } from '../../schema/errors.ts'
import { readSession, readSessionsBySid } from '../log/load-session.ts'
import { readHorizon } from '../log/read-horizon.ts'
import { overlayOfTenant } from './list-overlay.ts'
import { requestEntry, type StoredRequest } from './list-rows.ts'
import { readTree } from './read-tree.ts'
import { readCurrentInfos } from './session-rows.ts'
import { toRequests, type Request } from './to-requests.ts'

export type RequestsQuery = {
  readonly tenant: number
  readonly limit: number
  /** The place of the last one that was shown. */
  readonly before?: number
  readonly status?: RequestRow['status']
  readonly kind?: RequestRow['kind']
  readonly project?: string
  readonly sessionId?: string
  /** The descendants of the session, too. */
  readonly tree?: boolean
}

export type RequestsPage = {
  readonly data: readonly Request[]
  readonly next: number | undefined
  /** The position from which to follow: all up to it is in the page, and nothing after it is missed. */
  readonly asOf: number
}

/**
 * Requests across sessions, the newest first, each once; those of deleted sessions are not listed.
 * Throws Refusal `session_not_found` and `session_deleted` of the session that is asked for.
 */
export const listRequests = async (pool: Pool, query: RequestsQuery): Promise<RequestsPage> => {
  // Before the snapshot: what commits late lies above it, and comes to who follows from here.
  const asOf = await pool.use(readHorizon)
  return runTransaction(
    pool,
    { isolation: 'repeatable read', readOnly: true },
    async (connection) => {
      const sids = await sidsOf(connection, query)
      const overlay = await overlayOfTenant(connection, query.tenant, requestTypes)
      const matches = (row: RequestRow & { sid: number }): boolean =>
        (query.status === undefined || row.status === query.status) &&
        (query.kind === undefined || row.kind === query.kind) &&
        (sids === undefined || sids.has(row.sid))
      const found: Listed[] = []
      let before = query.before ?? Number.MAX_SAFE_INTEGER
      for (let isMore = true; isMore && found.length <= query.limit;) {
        const size = query.limit + 1
        const kept = await readKept(connection, { ...query, sids, before, size })
        isMore = kept.length === size
        const last = isMore ? kept.at(-1)!.position : 0
        const rows = merged(kept, overlay, { before, last }).filter(matches)
        found.push(...(await readShown(connection, query, rows)))
        before = last
      }
      const page = found.slice(0, query.limit)
      return {
        data: await toRequests(connection, page),
        next: found.length > query.limit ? page.at(-1)!.position : undefined,
        asOf,
      }
    },
  )
}

type Listed = Entry<RequestRow> & { readonly sessionId: string }

/** The sessions that are asked for; undefined: all. */
const sidsOf = async (
  connection: Connection,
  { tenant, sessionId, tree }: RequestsQuery,
): Promise<ReadonlySet<number> | undefined> => {
  if (sessionId === undefined) return undefined
  const session = await readSession(connection, { tenant, sessionId })
  if (!session) throw new Refusal('session_not_found', `there is no session ${sessionId}`)
  if (session.state.deleted) throw new Refusal('session_deleted', `session ${sessionId} is deleted`)
  if (!tree) return new Set([session.sid])
  return new Set((await readTree(connection, session)).map(({ sid }) => sid))
}

/** The kept rows down to the last of them with those of the tail in their places. */
const merged = (
  kept: readonly Entry<RequestRow>[],
  { requests: overlay }: Lists,
  { before, last }: { readonly before: number; readonly last: number },
): Entry<RequestRow>[] =>
  [
    ...kept.filter(({ sid, requestId }) => !overlay.has(rowKey(sid, requestId))),
    ...[...overlay.values()].filter(({ position }) => position < before && position >= last),
  ].toSorted((a, b) => b.position - a.position)

const readKept = async (
  connection: Connection,
  query: Omit<RequestsQuery, 'before'> & {
    readonly sids: ReadonlySet<number> | undefined
    readonly before: number
    readonly size: number
  },
): Promise<Entry<RequestRow>[]> => {
  let rows = kyselyOn<RequestTables>(connection)
    .selectFrom('stemma.request as r')
    .selectAll('r')
    .where('r.version', '=', sessionsVersion)
    .where('r.tenant', '=', query.tenant)
    .where('r.position', '<', query.before)
    .orderBy('r.position', 'desc')
    .limit(query.size)
  // As a literal: the index of those that are open is found by it.
  if (query.status !== undefined) rows = rows.where('r.status', '=', sql.lit(query.status))
  if (query.kind !== undefined) rows = rows.where('r.kind', '=', query.kind)
  if (query.sids !== undefined) {
    rows = rows.where(sql<boolean>`r.sid = any (${numberList([...query.sids])}::text::bigint[])`)
  }
  if (query.project !== undefined) {
    rows = rows.where(sql<boolean>`exists (select from stemma.session_info i
      where i.version = ${sessionsVersion} and i.sid = r.sid
        and i.project = ${plainText(query.project)})`)
  }
  return (await rows.execute()).map(requestEntry)
}

type RequestTables = { 'stemma.request': StoredRequest & { version: number } }

/** Those of sessions that are shown, with the sessions' ids. */
const readShown = async (
  connection: Connection,
  { project }: RequestsQuery,
  rows: readonly Entry<RequestRow>[],
): Promise<Listed[]> => {
  const sids = [...new Set(rows.map(({ sid }) => sid))]
  const sessions = await readSessionsBySid(connection, sids)
  const shown = new Map(
    sessions.flatMap(({ sid, sessionId, state }) => (state.deleted ? [] : [[sid, sessionId]])),
  )
  if (project !== undefined) {
    for (const [sid, { info }] of await readCurrentInfos(connection, [...shown.keys()])) {
      if (info?.project !== project) shown.delete(sid)
    }
  }
  return rows.flatMap((row) => {
    const sessionId = shown.get(row.sid)
    return sessionId === undefined ? [] : [{ ...row, sessionId }]
  })
}
