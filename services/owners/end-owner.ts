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
 * once. Said again it changes nothing. Starts and claims that are being stored are waited for (hence
 * `for update`: they hold `for key share`), so that who lists its turns afterwards finds them all. Throws Refusal `owner_not_found`, `owner_superseded`.
 */
export const endOwner = (
  pool: Pool,
  { tenant, ownerId, incarnation, reason }: Exit,
): Promise<Owner> =>
  pool.use(async (connection) => {
    const ended = await connection.query(
      `update stemma.owner o set ended_at = clock_timestamp(), end_reason = $4
         from (select tenant, owner_id from stemma.owner
             where tenant = $1 and owner_id = $2 for update) locked
         where o.tenant = locked.tenant and o.owner_id = locked.owner_id
           and incarnation = $3 and ended_at is null
         returning 1 as one`,
      [tenant, ownerId, incarnation, reason],
    )
    const owner = await readOwner(connection, tenant, ownerId)
    const isTheirs = owner.incarnation === incarnation && owner.status === 'exited'
    if (ended.length === 0 && !isTheirs) throw whyNotCurrent(owner, incarnation)
    return owner
  })
