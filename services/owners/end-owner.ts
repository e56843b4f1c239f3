import type { Pool } from '../database/pool.ts'
import { readOwner, whyNotCurrent, type Owner } from './read-owner.ts'

type Exit = {
  readonly tenant: number
  readonly ownerId: string
  readonly incarnation: number
  readonly reason: string
}

/**
 * That an incarnation has exited, by itself or as its supervisor reports: its turns may be claimed at
 * once. Said again it changes nothing. Throws Refusal `owner_not_found`, `owner_superseded`.
 */
export const endOwner = (
  pool: Pool,
  { tenant, ownerId, incarnation, reason }: Exit,
): Promise<Owner> =>
  pool.use(async (connection) => {
    const ended = await connection.query(
      `update stemma.owner set ended_at = clock_timestamp(), end_reason = $4
         where tenant = $1 and owner_id = $2 and incarnation = $3 and ended_at is null
         returning 1 as one`,
      [tenant, ownerId, incarnation, reason],
    )
    const owner = await readOwner(connection, tenant, ownerId)
    const isTheirs = owner.incarnation === incarnation && owner.status === 'exited'
    if (ended.length === 0 && !isTheirs) throw whyNotCurrent(owner, incarnation)
    return owner
  })
