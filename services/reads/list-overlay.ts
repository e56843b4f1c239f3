import { foldLists, type Lists } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { EventType } from '../../schema/events/event-table.ts'
import type { Connection } from '../database/connection.ts'
import { readableEvents, type PlacedEvent } from './list-event.ts'
import { loadLists } from './list-rows.ts'
import { columnsWithDataOf } from './session-rows.ts'

/**
 * The rows that a tenant's events after the checkpoint change, as they are in this snapshot: laid over
 * the kept ones they make a list that is never older than the log. Of sessions that are set aside, what
 * their rows lack before it, too. Only of these types. An event that cannot be folded is passed over.
 */
export const overlayOfTenant = (
  connection: Connection,
  tenant: number,
  types: readonly EventType[],
): Promise<Lists> =>
  overlay(
    connection,
    `select e.tenant, ${columnsWithDataOf(types)} from stemma.event e
       where e.tenant = $1 and e.position > ${checkpoint}
         and e.type = any (string_to_array($3, ' '))
     union all
     select l.tenant, e.* from stemma.lists_stalled l
       cross join lateral (select ${columnsWithDataOf(types)} from stemma.event e
         where e.sid = l.sid and e.position <= ${checkpoint}
           and e.seq > ${keptSeq('l.sid')} and e.type = any (string_to_array($3, ' '))
         offset 0) e
       where l.version = $2 and l.tenant = $1`,
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
    `select e.tenant, ${columnsWithDataOf(types)} from stemma.event e
       where e.sid = $1 and e.seq > ${keptSeq('$1')}
         and e.type = any (string_to_array($3, ' '))`,
    sid,
    types,
  )

const checkpoint = `coalesce(
  (select position from stemma.sessions_checkpoint where version = $2), 0)`

const keptSeq = (sid: string): string =>
  `coalesce((select i.seq from stemma.session_info i where i.version = $2 and i.sid = ${sid}), 0)`

const overlay = async (
  connection: Connection,
  sql: string,
  of: number,
  types: readonly EventType[],
): Promise<Lists> => {
  const rows = await connection.query<PlacedEvent>(`${sql} order by position`, [
    of,
    sessionsVersion,
    types.join(' '),
  ])
  const events = readableEvents(rows)
  const lists = await loadLists(connection, events)
  for (const event of events) {
    try {
      foldLists(lists, event)
    } catch {
      // Its session is, or will be, set aside by the projector, which says so.
    }
  }
  return lists
}
