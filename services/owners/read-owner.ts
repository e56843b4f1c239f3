import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import { ownerExited, ownerSuperseded } from '../log/rules/owner-facts.ts'

/** An owner as it is given out. */
export type Owner = {
  readonly ownerId: string
  readonly incarnation: number
  readonly lifetime: 'lease' | 'process'
  readonly ttlMs?: number
  readonly host?: string
  readonly status: 'alive' | 'lapsed' | 'exited'
  readonly exitReason?: string
  /** When its lease ends if no heartbeat comes. */
  readonly lapsesAt?: string
}

/** Throws Refusal `owner_not_found`. */
export const readOwner = async (
  connection: Connection,
  tenant: number,
  ownerId: string,
): Promise<Owner> => {
  const [row] = await connection.query<{
    incarnation: number
    lifetime: 'lease' | 'process'
    ttl_ms: number | null
    host: string | null
    ended: boolean
    end_reason: string | null
    lost: boolean
    lapses_at: string | null
  }>(
    `select incarnation, lifetime, ttl_ms, host, ended, end_reason, lost, lapses_at
       from stemma.owner_now_v1($1, $2)`,
    [tenant, ownerId],
  )
  if (!row) throw new Refusal('owner_not_found', `no owner ${ownerId} has registered`)
  return {
    ownerId,
    incarnation: row.incarnation,
    lifetime: row.lifetime,
    ...(row.ttl_ms !== null && { ttlMs: row.ttl_ms }),
    ...(row.host !== null && { host: row.host }),
    status: row.ended ? 'exited' : row.lost ? 'lapsed' : 'alive',
    ...(row.end_reason !== null && { exitReason: row.end_reason }),
    ...(row.lapses_at !== null && { lapsesAt: row.lapses_at }),
  }
}

/** Why an owner's own call of this incarnation cannot be taken. */
export const whyNotCurrent = (owner: Owner, incarnation: number): Refusal => {
  if (incarnation < owner.incarnation) return ownerSuperseded(owner.ownerId, owner.incarnation)
  if (incarnation > owner.incarnation) {
    return new Refusal(
      'wrong_state',
      `incarnation ${incarnation} of ${owner.ownerId} was never given out`,
    )
  }
  return ownerExited(owner.ownerId, incarnation)
}
