import { sessionsVersion, type SessionInfo } from '../../projections/sessions/session-info.ts'
import { sql } from 'kysely'
import { plainText } from '../../projections/sessions/plain-text.ts'
import type { Connection } from '../database/connection.ts'
import { kyselyOn } from '../database/kysely-dialect.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readHorizon } from '../log/read-horizon.ts'
import { sessionStatus, type SessionState } from '../log/session-state.ts'
import { readOwnersAlive } from './owners-alive.ts'
import { toSession, type Session } from './session.ts'
import { readCurrentInfos } from './session-rows.ts'

export type SessionsQuery = {
  readonly tenant: number
  readonly limit: number
  readonly order: 'created' | 'updated'
  readonly cursor?: SessionsCursor
  readonly status?: 'idle' | 'running' | 'requires_action' | 'archived'
  readonly project?: string
  /** Session id of the parent. */
  readonly parent?: string
  /** A part of the title, without regard to case. */
  readonly search?: string
}

/**
 * Where a walk over the list is. By creation: the last sid shown. By last change: first what was
 * unchanged since the walk began (`touched` at or below `began`), newest first; then, oldest first,
 * all that has changed since, even if it was shown before.
 */
export type SessionsCursor =
  | { readonly order: 'created'; readonly sid: number }
  | {
      readonly order: 'updated'
      readonly phase: 1
      readonly began: number
      readonly touched: number
    }
  | { readonly order: 'updated'; readonly phase: 2; readonly touched: number }

export type SessionsPage = {
  readonly data: readonly Session[]
  readonly next: SessionsCursor | undefined
}

/** A page of the list, the sessions that the kept rows lack included. Deleted ones are not listed. */
export const listSessions = async (pool: Pool, query: SessionsQuery): Promise<SessionsPage> => {
  // Before the snapshot: what commits late lies above it, and belongs to what has changed since.
  const horizon = query.order === 'updated' ? await pool.use(readHorizon) : 0
  return runTransaction(
    pool,
    { isolation: 'repeatable read', readOnly: true },
    async (connection) => {
      const overlay = await readOverlay(connection, query.tenant)
      let cursor = query.cursor ?? firstCursor(query.order, horizon)
      const found: Listed[] = []
      while (found.length <= query.limit) {
        const batch = await readBatch(connection, query, cursor, overlay)
        found.push(...batch.rows.filter((row) => matches(row, query)))
        if (batch.next === undefined) {
          if (cursor.order === 'created' || cursor.phase === 2) break
          cursor = { order: 'updated', phase: 2, touched: cursor.began }
        } else cursor = batch.next
      }
      const page = found.slice(0, query.limit)
      const last = page.at(-1)
      const alive = await readOwnersAlive(
        connection,
        page.map((row) => ({ ...row, tenant: query.tenant })),
      )
      return {
        data: page.map((row) => toSession(row, row.info, alive.get(row.sid))),
        next: found.length > query.limit && last ? cursorAfter(last, query, horizon) : undefined,
      }
    },
  )
}

type Listed = {
  readonly sid: number
  readonly sessionId: string
  readonly headSeq: number
  readonly createdAt: string
  readonly state: SessionState
  readonly touched: number
  readonly info: SessionInfo
  /** The place in the walk at which the row was found. */
  readonly from?: SessionsCursor
}

const firstCursor = (order: 'created' | 'updated', horizon: number): SessionsCursor =>
  order === 'created'
    ? { order, sid: Number.MAX_SAFE_INTEGER }
    : { order, phase: 1, began: horizon, touched: Number.MAX_SAFE_INTEGER }

const cursorAfter = (row: Listed, query: SessionsQuery, horizon: number): SessionsCursor => {
  if (query.order === 'created') return { order: 'created', sid: row.sid }
  const from = row.from
  if (from?.order === 'updated' && from.phase === 1) return { ...from, touched: row.touched }
  // Never past the horizon: something that commits late may still come in below.
  return { order: 'updated', phase: 2, touched: Math.min(row.touched, horizon) }
}

/** The sessions that were appended to after the checkpoint of the kept rows, or are set aside. */
const readOverlay = async (
  connection: Connection,
  tenant: number,
): Promise<Map<number, number>> => {
  const rows = await connection.query<{ sid: number; touched: number }>(
    `select sid, max(touched) as touched from (
         select sid, position as touched from stemma.event
           where tenant = $1
             and position > (select position from stemma.sessions_checkpoint where version = $2)
         union all
         select l.sid, e.position from stemma.lists_stalled l
           cross join lateral (select position from stemma.event
             where sid = l.sid order by seq desc limit 1) e
           where l.version = $2 and l.tenant = $1) changed
       group by sid`,
    [tenant, sessionsVersion],
  )
  return new Map(rows.map(({ sid, touched }) => [sid, touched]))
}

const batchSize = 500

type Batch = { readonly rows: readonly Listed[]; readonly next: SessionsCursor | undefined }

/** The next rows of the walk, unfiltered but for what columns say. */
const readBatch = async (
  connection: Connection,
  query: SessionsQuery,
  cursor: SessionsCursor,
  overlay: ReadonlyMap<number, number>,
): Promise<Batch> => {
  const size = Math.min(batchSize, query.limit + 1)
  const newer = newerThan(cursor, overlay)
  const kept = await readKept(connection, query, cursor, [...overlay.keys()], size)
  const merged = [...newer, ...kept.map(({ sid, touched }) => ({ sid, touched }))]
    .toSorted((a, b) => compare(cursor, a, b))
    .slice(0, size)
  const rows = await readListed(connection, merged, cursor)
  const last = merged.at(-1)
  if (merged.length < size || !last) return { rows, next: undefined }
  const next: SessionsCursor =
    cursor.order === 'created' ? { ...cursor, sid: last.sid } : { ...cursor, touched: last.touched }
  return { rows, next }
}

type KeptRow = { sid: number; touched: number }

/** The kept rows of the walk, but for the sessions that have changed since they were written. */
const readKept = (
  connection: Connection,
  query: SessionsQuery,
  cursor: SessionsCursor,
  changed: readonly number[],
  limit: number,
): Promise<KeptRow[]> => {
  let rows = kyselyOn<SessionTables>(connection)
    .selectFrom('stemma.session_info')
    .select(['sid', 'touched'])
    .where('version', '=', sessionsVersion)
    .where('tenant', '=', query.tenant)
    .where('deleted', '=', false)
    .where('archived', '=', query.status === 'archived')
    .limit(limit)
  if (changed.length > 0) {
    rows = rows.where(sql<boolean>`sid <> all (${`{${changed.join(',')}}`}::text::bigint[])`)
  }
  if (query.project !== undefined) rows = rows.where('project', '=', plainText(query.project))
  if (query.parent !== undefined) rows = rows.where('parent', '=', query.parent)
  if (cursor.order === 'created') {
    return rows.where('sid', '<', cursor.sid).orderBy('sid', 'desc').execute()
  }
  return cursor.phase === 1
    ? rows
        .where('touched', '<', cursor.touched)
        .where('touched', '<=', cursor.began)
        .orderBy('touched', 'desc')
        .execute()
    : rows.where('touched', '>', cursor.touched).orderBy('touched').execute()
}

type SessionTables = {
  'stemma.session_info': {
    version: number
    sid: number
    tenant: number
    touched: number
    archived: boolean
    deleted: boolean
    project: string | null
    parent: string | null
  }
}

const newerThan = (cursor: SessionsCursor, overlay: ReadonlyMap<number, number>): KeptRow[] =>
  [...overlay]
    .map(([sid, touched]) => ({ sid, touched }))
    .filter(({ sid, touched }) => {
      if (cursor.order === 'created') return sid < cursor.sid
      if (cursor.phase === 2) return touched > cursor.touched
      return touched < cursor.touched && touched <= cursor.began
    })

const compare = (cursor: SessionsCursor, a: KeptRow, b: KeptRow): number => {
  if (cursor.order === 'created') return b.sid - a.sid
  return cursor.phase === 1 ? b.touched - a.touched : a.touched - b.touched
}

const readListed = async (
  connection: Connection,
  found: readonly KeptRow[],
  cursor: SessionsCursor,
): Promise<Listed[]> => {
  if (found.length === 0) return []
  const sids = found.map(({ sid }) => sid)
  const infos = await readCurrentInfos(connection, sids)
  const sessions = await connection.query<{
    sid: number
    session_id: string
    head: number
    created_at: string
    state: string
  }>(
    `select sid, session_id, head, created_at, state::text as state from stemma.session
       where sid = any ($1::text::bigint[])`,
    [`{${sids.join(',')}}`],
  )
  const bySid = new Map(sessions.map((session) => [session.sid, session]))
  return found.flatMap(({ sid, touched }) => {
    const session = bySid.get(sid)
    const info = infos.get(sid)?.info
    if (!session || !info || info.deleted) return []
    return [
      {
        sid,
        sessionId: session.session_id,
        headSeq: session.head,
        createdAt: session.created_at,
        state: JSON.parse(session.state) as SessionState,
        touched,
        info,
        from: cursor,
      },
    ]
  })
}

const matches = ({ info, state }: Listed, query: SessionsQuery): boolean =>
  (query.status === 'archived') === (info.archived ?? false) &&
  (query.status === undefined ||
    query.status === 'archived' ||
    sessionStatus(state) === query.status) &&
  (query.project === undefined || info.project === query.project) &&
  (query.parent === undefined || info.parent?.sessionId === query.parent) &&
  (query.search === undefined || titleOf(info).toLowerCase().includes(query.search.toLowerCase()))

/** Of a session that is set aside it may be anything. */
const titleOf = ({ title }: { readonly title?: unknown }): string =>
  typeof title === 'string' ? title : ''
