import type { Connection } from '../database/connection.ts'
import type { SessionAppend } from './append-call.ts'

/**
 * Makes sure that a guarded call whose answer was lost stores nothing any more: takes the name that
 * the call brings (`sent:…`), under the row's lock, while the head is the one that it expects. Whoever
 * of the two is first at the lock decides: the call, and then the head is another here; or this, and
 * then the call fails on the name, whenever it comes. Gives whether it was this.
 */
export const voidCall = async (
  connection: Connection,
  { sid, tenant, sessionId, expected, sent }: SessionAppend,
): Promise<boolean> => {
  if (sent === undefined) return false
  const rows = await connection.query(voidSql, [sid, tenant, sessionId, expected, sent])
  return rows.length > 0
}

// A second try finds what the first has written, and the same head: the call is void then, too.
const voidSql = `
with s as (
  select sid, head from stemma.session
    where sid = $1 and tenant = $2 and session_id = $3 and head = $4 for update)
insert into stemma.name as n (sid, name, seq) select sid, $5, head from s
  on conflict (sid, name) do update set seq = excluded.seq
  returning 1 as one`
