import type { Pool } from '../database/pool.ts'

export type Registration = {
  readonly tenant: number
  readonly ownerId: string
  /** `process`: alive until its supervisor says otherwise. */
  readonly lifetime: 'lease' | 'process'
  /** Of a lease: how long it holds after a heartbeat. */
  readonly ttlMs?: number
  readonly host?: string
}

/** Registers an owner, again if it is there: the turns of its earlier incarnation may be claimed. */
export const registerOwner = async (
  pool: Pool,
  { tenant, ownerId, lifetime, ttlMs, host }: Registration,
): Promise<number> => {
  const [row] = await pool.use((connection) =>
    connection.query<{ incarnation: number }>(
      `insert into stemma.owner as o (tenant, owner_id, incarnation, lifetime, ttl_ms, host,
           registered_at, heartbeat_at)
         values ($1, $2, 1, $3, $4, $5, clock_timestamp(), clock_timestamp())
         on conflict (tenant, owner_id) do update
           set incarnation = o.incarnation + 1, lifetime = excluded.lifetime,
             ttl_ms = excluded.ttl_ms, host = excluded.host,
             registered_at = excluded.registered_at, heartbeat_at = excluded.heartbeat_at,
             ended_at = null, end_reason = null
         returning incarnation`,
      [tenant, ownerId, lifetime, ttlMs ?? null, host ?? null],
    ),
  )
  return row!.incarnation
}
