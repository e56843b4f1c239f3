import { randomBytes } from 'node:crypto'
import type { Pool } from '../../database/pool.ts'
import type { Principal } from '../plugins/principal.ts'
import { hashOf } from './hash-of.ts'

/** How long a ticket holds. */
const lifetimeSeconds = 30

/**
 * A ticket that stands for the principal once, at any server of the database. Expired ones that
 * nobody used are swept away on the way, a bounded number and none that another one is sweeping.
 */
export const issueTicket = async (
  pool: Pool,
  { tenant, subject, scopes }: Principal,
): Promise<{ readonly ticket: string; readonly expiresAt: string }> => {
  const ticket = randomBytes(32).toString('base64url')
  const [row] = await pool.use((connection) =>
    connection.query<{ expiresAt: string }>(
      `with swept as (
         delete from stemma.ticket where hash in (
           select hash from stemma.ticket where expires_at <= now()
             order by expires_at limit 1000 for update skip locked))
       insert into stemma.ticket (hash, tenant, subject, scopes, expires_at)
         values ($1, $2, $3, $4, now() + make_interval(secs => ${lifetimeSeconds}))
         returning expires_at as "expiresAt"`,
      [hashOf(ticket), tenant, subject, [...scopes].join(' ')],
    ),
  )
  return { ticket, expiresAt: row!.expiresAt }
}
