import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { EventData } from '../../schema/events/event-table.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import { isId } from './list-event.ts'
import type { SessionState } from '../log/session-state.ts'

/** A session of a tree. `parentSessionId` is its parent there: the first member has none. */
export type TreeMember = {
  readonly sid: number
  readonly sessionId: string
  readonly parentSessionId?: string
  readonly deleted?: true
}

/** A tree of more sessions than this is refused: what is done with trees is done with each member. */
export const mostMembers = 10_000

/**
 * A session and all its descendants, deleted ones too: the session first, then its children, then
 * theirs, each level in the order of creation. Never older than the log; run it in one snapshot with
 * what else is read. The parent that a session names may come later than it, may never come, and may
 * be its own descendant: each session is given once. Throws Refusal `too_large`.
 */
export const readTree = async (
  connection: Connection,
  root: { readonly sid: number; readonly tenant: number; readonly sessionId: string },
): Promise<readonly TreeMember[]> => {
  const created = await readCreated(connection, root.tenant)
  const rows = await connection.query<Row>(treeSql, [
    root.sid,
    sessionsVersion,
    root.tenant,
    numberList(created.map(({ sid }) => sid)),
    created.map(({ parent }) => parent).join(' '),
    // In a cycle the root comes twice.
    mostMembers + 2,
  ])
  const levels = inLevels(root.sid, rows)
  if (levels.length > mostMembers) {
    throw new Refusal('too_large', `the tree has more than ${mostMembers} sessions`)
  }
  return levels
}

type Row = { sid: number; session_id: string; parent: string | null; state: string }

/** Who was created with a parent after the checkpoint of the kept rows, or was set aside at once. */
const readCreated = async (
  connection: Connection,
  tenant: number,
): Promise<{ readonly sid: number; readonly parent: string }[]> => {
  const rows = await connection.query<{ sid: number; data: string }>(
    `select sid, data::text as data from stemma.event
       where tenant = $1 and seq = 1 and type = 'session.created' and position > coalesce(
         (select position from stemma.sessions_checkpoint where version = $2), 0)
     union all
     select l.sid, e.data from stemma.lists_stalled l
       cross join lateral (select data::text as data from stemma.event
         where sid = l.sid and seq = 1 and type = 'session.created') e
       where l.version = $2 and l.tenant = $1 and l.seq = 1`,
    [tenant, sessionsVersion],
  )
  return rows.flatMap(({ sid, data }) => {
    const created = JSON.parse(data) as EventData<'session.created'> | null
    const parent = created?.parent?.sessionId
    return isId(parent) ? [{ sid, parent }] : []
  })
}

// `union` does not go again into a row that is there already, so that a cycle comes to an end.
const treeSql = `
with recursive created as (
  select * from unnest($4::text::bigint[], string_to_array($5, ' ')) c(sid, parent)),
tree(sid, session_id, parent) as (
  select sid, session_id, null::text collate "C" from stemma.session where sid = $1
  union
  select s.sid, s.session_id, t.session_id
    from tree t
      cross join lateral (
        select i.sid from stemma.session_info i
          where i.version = $2 and i.tenant = $3 and i.parent = t.session_id
        union all
        select c.sid from created c where c.parent = t.session_id) child
      join stemma.session s on s.sid = child.sid)
select t.sid, t.session_id, t.parent, s.state::text as state
  from (select * from tree limit $6) t join stemma.session s on s.sid = t.sid`

const inLevels = (rootSid: number, rows: readonly Row[]): TreeMember[] => {
  const children = new Map<string | null, Row[]>()
  for (const row of rows) {
    if (row.sid === rootSid && row.parent !== null) continue
    const list = children.get(row.parent)
    if (list) list.push(row)
    else children.set(row.parent, [row])
  }
  const members: TreeMember[] = []
  let level = children.get(null) ?? []
  while (level.length > 0) {
    members.push(...level.map(memberOf))
    level = level
      .flatMap((row) => children.get(row.session_id) ?? [])
      .toSorted((a, b) => a.sid - b.sid)
  }
  return members
}

const memberOf = (row: Row): TreeMember => {
  const { deleted } = JSON.parse(row.state) as SessionState
  return {
    sid: row.sid,
    sessionId: row.session_id,
    ...(row.parent !== null && { parentSessionId: row.parent }),
    ...(deleted && { deleted }),
  }
}
