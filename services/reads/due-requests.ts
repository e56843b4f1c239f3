import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Pool } from '../database/pool.ts'

export type DueRequest = {
  readonly tenant: number
  readonly sessionId: string
  readonly requestId: string
}

const most = 100

/**
 * Open requests that have expired by the database's clock, the longest expired first. By the kept
 * list: what the last second brought may be missing, and what it settled may still be here.
 */
export const readDueRequests = (pool: Pool): Promise<DueRequest[]> =>
  pool.use((connection) =>
    connection.query<DueRequest>(
      `select r.tenant, s.session_id as "sessionId", r.request_id as "requestId"
         from stemma.request r join stemma.session s on s.sid = r.sid
         where r.version = $1 and r.status = 'open' and r.expires_at is not null
           and r.expires_at <= clock_timestamp()
         order by r.expires_at limit $2`,
      [sessionsVersion, most],
    ),
  )
