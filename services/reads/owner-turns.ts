import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import { turnTypes } from '../../projections/turns/fold.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readSessionsBySid } from '../log/load-session.ts'
import { readOwner } from '../owners/read-owner.ts'
import { overlayOfTenant } from './list-overlay.ts'
import { readOwnersAlive } from './owners-alive.ts'

/** An active turn that an owner holds, or held last if it was released. */
export type OwnerTurn = {
  readonly sessionId: string
  readonly turnId: string
  readonly fence: number
  readonly incarnation?: number
  readonly startedSeq: number
  readonly released?: true
  /** Whether it is held by the owner's last incarnation. */
  readonly current: boolean
  /** False if it may be claimed. */
  readonly ownerAlive: boolean
}

export type OwnerTurnsQuery = {
  readonly tenant: number
  readonly ownerId: string
  readonly limit: number
  /** The sid of the last one that was shown. */
  readonly after?: number
}

export type OwnerTurnsPage = {
  readonly data: readonly OwnerTurn[]
  readonly next: number | undefined
}

/**
 * The active turns of an owner, whatever its incarnation, as they are in one snapshot, in the order of
 * their sessions. Throws Refusal `owner_not_found`.
 */
export const readOwnerTurns = (pool: Pool, query: OwnerTurnsQuery): Promise<OwnerTurnsPage> =>
  runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (connection) => {
    const { tenant, ownerId, limit, after = 0 } = query
    const owner = await readOwner(connection, tenant, ownerId)
    const overlay = await overlayOfTenant(connection, tenant, turnTypes)
    const found: OwnerTurn[] = []
    let last = after
    let shown = after
    for (let isMore = true; isMore && found.length <= limit;) {
      const kept = await readKept(connection, query, last)
      isMore = kept.length > limit
      const through = isMore ? kept.at(-1)! : Number.MAX_SAFE_INTEGER
      const changed = [...overlay.turns.values()].map(({ sid }) => sid)
      const sids = new Set([...kept, ...changed].filter((sid) => sid > last && sid <= through))
      const sessions = (await readSessionsBySid(connection, [...sids]))
        .filter(({ state }) => state.turn?.ownerId === ownerId)
        .toSorted((a, b) => a.sid - b.sid)
      const alive = await readOwnersAlive(connection, sessions)
      for (const { sid, sessionId, state } of sessions) {
        const { turnId, fence, incarnation, startedSeq, released } = state.turn!
        if (found.length < limit) shown = sid
        found.push({
          sessionId,
          turnId,
          fence,
          ...(incarnation !== undefined && { incarnation }),
          startedSeq,
          ...(released && { released }),
          current: incarnation === owner.incarnation,
          ownerAlive: alive.get(sid) === true,
        })
      }
      last = through
    }
    return { data: found.slice(0, limit), next: found.length > limit ? shown : undefined }
  })

const readKept = async (
  connection: Connection,
  { tenant, ownerId, limit }: OwnerTurnsQuery,
  after: number,
): Promise<number[]> => {
  const rows = await connection.query<{ sid: number }>(
    `select sid from stemma.turn
       where version = $1 and tenant = $2 and owner_id = $3 and ended_seq is null and sid > $4
       order by sid limit $5`,
    [sessionsVersion, tenant, ownerId, after, limit + 1],
  )
  return rows.map(({ sid }) => sid)
}
