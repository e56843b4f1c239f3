import { foldLists, type ListEvent, type Lists } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { EventType } from '../../schema/events/event-table.ts'
import type { Connection } from '../database/connection.ts'
import { loadLists } from './list-rows.ts'
import { columnsWithDataOf, storedOf, type InfoEvent } from './session-rows.ts'

/**
 * The rows that a tenant's events after the checkpoint change, as they are in this snapshot: laid over
 * the kept ones they make a list that is never older than the log. Only of these types.
 */
export const overlayOfTenant = (
  connection: Connection,
  tenant: number,
  types: readonly EventType[],
): Promise<Lists> =>
  overlay(
    connection,
    `e.tenant = $1 and e.position > coalesce(
       (select position from stemma.sessions_checkpoint where version = $2), 0)`,
    tenant,
    types,
  )

/** The same of one session. */
export const overlayOfSession = (
  connection: Connection,
  sid: number,
  types: readonly EventType[],
): Promise<Lists> =>
  overlay(
    connection,
    `e.sid = $1 and e.seq > coalesce(
       (select seq from stemma.session_info where version = $2 and sid = $1), 0)`,
    sid,
    types,
  )

const overlay = async (
  connection: Connection,
  where: string,
  of: number,
  types: readonly EventType[],
): Promise<Lists> => {
  const rows = await connection.query<InfoEvent & { tenant: number }>(
    `select e.tenant, ${columnsWithDataOf(types)} from stemma.event e
       where ${where} and e.type = any (string_to_array($3, ' ')) order by e.position`,
    [of, sessionsVersion, types.join(' ')],
  )
  const events = rows.map((row): ListEvent => {
    const { sid, tenant, position } = row
    return { ...storedOf(row), sid, tenant, position }
  })
  const lists = await loadLists(connection, events)
  for (const event of events) foldLists(lists, event)
  return lists
}
