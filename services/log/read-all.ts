import type { Pool } from '../database/pool.ts'
import { eventRow, type EventRow, type StoredRow } from './read-events.ts'
import { readHorizon } from './read-horizon.ts'

export type AllEventRow = EventRow & {
  readonly sid: number
  readonly sessionId: string
  readonly tenant: number
}

export type AllPage = {
  readonly events: readonly AllEventRow[]
  /** Up to where this page has looked: the next one reads from here, also when nothing matched. */
  readonly position: number
  /** Whether there was nothing more to read below the horizon. */
  readonly atEnd: boolean
}

/**
 * Events of all sessions (of one tenant, or of every tenant if none is given) after a position, in
 * order of position. Never passes the in-flight horizon: what is behind it may still be joined by
 * an append that commits late (docs/protocol.md, L7). The horizon is read first, the rows after it
 * in a statement of their own.
 */
export const readAll = async (
  pool: Pool,
  range: {
    readonly tenant?: number
    readonly afterPosition: number
    readonly limit: number
    readonly types?: readonly string[]
  },
): Promise<AllPage> =>
  pool.use(async (connection) => {
    const horizon = await readHorizon(connection)
    const rows = await connection.query<
      StoredRow & { sid: number; session_id: string; tenant: number }
    >(range.tenant === undefined ? everyTenantSql : oneTenantSql, [
      range.afterPosition,
      horizon,
      range.limit,
      range.types?.join(' ') ?? '',
      ...(range.tenant === undefined ? [] : [range.tenant]),
    ])
    const atEnd = rows.length < range.limit
    const last = rows.at(-1)?.position ?? range.afterPosition
    return {
      events: rows.map((row) => ({
        ...eventRow(row),
        sid: row.sid,
        sessionId: row.session_id,
        tenant: row.tenant,
      })),
      position: atEnd ? Math.max(range.afterPosition, horizon) : last,
      atEnd,
    }
  })

const everyTenantSql = `select e.sid, s.session_id, e.tenant, e.seq, e.position, e.event_id, e.type,
    e.version, e.occurred_at, e.recorded_at, e.data::text as data, e.meta::text as meta
  from stemma.event e join stemma.session s on s.sid = e.sid
  where e.position > $1 and e.position <= $2
    and ($4 = '' or e.type = any (string_to_array($4, ' ')))
  order by e.position limit $3`

const oneTenantSql = `select e.sid, s.session_id, e.tenant, e.seq, e.position, e.event_id, e.type,
    e.version, e.occurred_at, e.recorded_at, e.data::text as data, e.meta::text as meta
  from stemma.event e join stemma.session s on s.sid = e.sid
  where e.tenant = $5 and e.position > $1 and e.position <= $2
    and ($4 = '' or e.type = any (string_to_array($4, ' ')))
  order by e.position limit $3`
