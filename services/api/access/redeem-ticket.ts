import type { Pool } from '../../database/pool.ts'
import { allScopes, type Principal } from '../plugins/principal.ts'
import { hashOf } from './hash-of.ts'

/**
 * Who a ticket stands for, if it is one that was not used and has not expired, by the database's
 * clock. It is used up: of any number of callers at any servers one gets the principal.
 */
export const redeemTicket = async (pool: Pool, ticket: string): Promise<Principal | undefined> => {
  if (!/^[A-Za-z0-9_-]{43}$/.test(ticket)) return undefined
  const [row] = await pool.use((connection) =>
    connection.query<{ tenant: number; subject: string; scopes: string; holds: boolean }>(
      `delete from stemma.ticket where hash = $1
         returning tenant, subject, scopes, expires_at > now() as holds`,
      [hashOf(ticket)],
    ),
  )
  if (!row?.holds) return undefined
  const given = new Set(row.scopes.split(' '))
  const scopes = new Set(allScopes.filter((scope) => given.has(scope)))
  return { tenant: row.tenant, subject: row.subject, scopes }
}
