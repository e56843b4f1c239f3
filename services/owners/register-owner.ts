import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
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
  /** From `Idempotency-Key`: a registration that is sent again is not made a second time. */
  readonly commandId?: string
}

/**
 * Registers an owner, again if it is there: the turns of its earlier incarnation may be claimed.
 * Throws Refusal `key_reused`.
 */
export const registerOwner = (pool: Pool, registration: Registration): Promise<Owner> =>
  runTransaction(pool, {}, async (connection) => {
    const { tenant, ownerId, lifetime, ttlMs, host, commandId } = registration
    const made = commandId === undefined ? undefined : await findMade(connection, registration)
    if (made) return made
    // Starts and claims that are being stored are waited for, as in an exit: who registers again and
    // lists the turns of before finds them all. Behind the lock the row is this registration's own.
    await connection.query(
      'select 1 as one from stemma.owner where tenant = $1 and owner_id = $2 for update',
      [tenant, ownerId],
    )
    await connection.query(
      `insert into stemma.owner as o (tenant, owner_id, incarnation, lifetime, ttl_ms, host,
           registered_at, heartbeat_at)
         values ($1, $2, 1, $3, $4, $5, clock_timestamp(), clock_timestamp())
         on conflict (tenant, owner_id) do update
           set incarnation = o.incarnation + 1, lifetime = excluded.lifetime,
             ttl_ms = excluded.ttl_ms, host = excluded.host,
             registered_at = excluded.registered_at, heartbeat_at = excluded.heartbeat_at,
             ended_at = null, end_reason = null`,
      [tenant, ownerId, lifetime, ttlMs ?? null, host ?? null],
    )
    const owner = await readOwner(connection, tenant, ownerId)
    if (commandId !== undefined) {
      await connection.query(
        `update stemma.registration set incarnation = $4
           where tenant = $1 and owner_id = $2 and command_id = $3`,
        [tenant, ownerId, commandId, owner.incarnation],
      )
    }
    return owner
  })

type Made = {
  incarnation: number
  lifetime: Registration['lifetime']
  ttl_ms: number | null
  host: string | null
}

/**
 * What the key registered before; else takes the key. One that is taking it is waited for. An
 * incarnation that has been superseded since is answered as one that has exited.
 */
const findMade = async (
  connection: Connection,
  { tenant, ownerId, lifetime, ttlMs, host, commandId }: Registration,
): Promise<Owner | undefined> => {
  const taken = await connection.query(
    `insert into stemma.registration (tenant, owner_id, command_id, lifetime, ttl_ms, host)
       values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning 1 as one`,
    [tenant, ownerId, commandId!, lifetime, ttlMs ?? null, host ?? null],
  )
  if (taken.length > 0) return undefined
  const [made] = await connection.query<Made>(
    `select incarnation, lifetime, ttl_ms, host from stemma.registration
       where tenant = $1 and owner_id = $2 and command_id = $3`,
    [tenant, ownerId, commandId!],
  )
  const { incarnation, ...before } = made!
  const isSame =
    before.lifetime === lifetime &&
    (before.ttl_ms ?? undefined) === ttlMs &&
    (before.host ?? undefined) === host
  if (!isSame) {
    throw new Refusal('key_reused', `the key registered owner ${ownerId} in another way`)
  }
  const owner = await readOwner(connection, tenant, ownerId)
  if (owner.incarnation === incarnation) return owner
  const superseded = { status: 'exited' as const, exitReason: 'it registered again' }
  return {
    ownerId,
    incarnation,
    lifetime,
    ...(ttlMs !== undefined && { ttlMs }),
    ...(host !== undefined && { host }),
    ...superseded,
  }
}
