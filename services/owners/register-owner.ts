import { Refusal } from '../../schema/errors.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readOwner, type Owner } from './read-owner.ts'

export type Registration = {
  readonly tenant: number
  readonly ownerId: string
  /** `process`: alive until its supervisor says otherwise. */
  readonly lifetime: 'lease' | 'process'
  /** Of a lease: how long it holds after a heartbeat. */
  readonly ttlMs?: number
  readonly host?: string
  /** From `Idempotency-Key`: sent again, the last registration is not made a second time. */
  readonly commandId?: string
}

/**
 * Registers an owner, again if it is there: the turns of its earlier incarnation may be claimed.
 * Throws Refusal `key_reused`.
 */
export const registerOwner = (pool: Pool, registration: Registration): Promise<Owner> => {
  const { tenant, ownerId, lifetime, ttlMs, host, commandId } = registration
  return runTransaction(pool, {}, async (connection) => {
    // Starts and claims that are being stored are waited for, as in an exit: who registers again and
    // lists the turns of before finds them all. Behind the lock the row is this registration's own.
    await connection.query(
      'select 1 as one from stemma.owner where tenant = $1 and owner_id = $2 for update',
      [tenant, ownerId],
    )
    const registered = await connection.query(
      `insert into stemma.owner as o (tenant, owner_id, incarnation, lifetime, ttl_ms, host,
           registered_at, heartbeat_at, command_id)
         values ($1, $2, 1, $3, $4, $5, clock_timestamp(), clock_timestamp(), $6)
         on conflict (tenant, owner_id) do update
           set incarnation = o.incarnation + 1, lifetime = excluded.lifetime,
             ttl_ms = excluded.ttl_ms, host = excluded.host,
             registered_at = excluded.registered_at, heartbeat_at = excluded.heartbeat_at,
             ended_at = null, end_reason = null, command_id = excluded.command_id
           where (o.command_id = excluded.command_id) is not true
         returning 1 as one`,
      [tenant, ownerId, lifetime, ttlMs ?? null, host ?? null, commandId ?? null],
    )
    const owner = await readOwner(connection, tenant, ownerId)
    const isSame = owner.lifetime === lifetime && owner.ttlMs === ttlMs && owner.host === host
    if (registered.length === 0 && !isSame) {
      throw new Refusal('key_reused', `the key registered owner ${ownerId} in another way`)
    }
    return owner
  })
}
