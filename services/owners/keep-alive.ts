import type { Pool } from '../database/pool.ts'
import { readOwner, whyNotCurrent, type Owner } from './read-owner.ts'

type Incarnation = {
  readonly tenant: number
  readonly ownerId: string
  readonly incarnation: number
}

/**
 * One heartbeat for all that the owner runs. A lease that has lapsed, and that nobody made use of,
 * begins anew. Throws Refusal `owner_not_found`, `owner_superseded`, `owner_exited`.
 */
export const keepAlive = (
  pool: Pool,
  { tenant, ownerId, incarnation }: Incarnation,
): Promise<Owner> =>
  pool.use(async (connection) => {
    const kept = await connection.query(
      `update stemma.owner set heartbeat_at = clock_timestamp()
         where tenant = $1 and owner_id = $2 and incarnation = $3 and ended_at is null
         returning 1 as one`,
      [tenant, ownerId, incarnation],
    )
    const owner = await readOwner(connection, tenant, ownerId)
    // It may have been superseded or ended between the two.
    const isTheirs = owner.incarnation === incarnation && owner.status !== 'exited'
    if (kept.length === 0 || !isTheirs) throw whyNotCurrent(owner, incarnation)
    return owner
  })
