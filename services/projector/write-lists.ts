import {
  foldLists,
  type Entry,
  type ListEvent,
  type Lists,
} from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Connection } from '../database/connection.ts'
import { booleanList, numberList, textList } from '../database/lists.ts'
import { loadLists } from '../reads/list-rows.ts'

/** Folds events into the lists' rows and writes those that they changed, each once. */
export const writeLists = async (
  connection: Connection,
  events: readonly ListEvent[],
): Promise<void> => {
  const lists = await loadLists(connection, events)
  for (const event of events) foldLists(lists, event)
  await writeTurns(connection, changedOf(lists.turns, lists.changed.turns))
  await writeRequests(connection, changedOf(lists.requests, lists.changed.requests))
  await writeWaiting(connection, lists)
}

const changedOf = <T>(rows: ReadonlyMap<string, T>, changed: ReadonlySet<string>): T[] =>
  [...changed].flatMap((key) => rows.get(key) ?? [])

type Rows<K extends 'turns' | 'requests' | 'waiting'> =
  Lists[K] extends Map<string, infer T> ? readonly T[] : never

const writeTurns = async (connection: Connection, rows: Rows<'turns'>): Promise<void> => {
  if (rows.length === 0) return
  await connection.query(turnsSql, [
    sessionsVersion,
    ...ofSessions(rows),
    textList(rows.map(({ turnId }) => turnId)),
    textList(rows.map(({ ownerId }) => ownerId)),
    numberList(rows.map(({ incarnation }) => incarnation)),
    numberList(rows.map(({ fence }) => fence)),
    booleanList(rows.map(({ released }) => released)),
    numberList(rows.map(({ startedSeq }) => startedSeq)),
    textList(rows.map(({ startedAt }) => startedAt)),
    numberList(rows.map(({ heldSeq }) => heldSeq)),
    textList(rows.map(({ claims }) => JSON.stringify(claims))),
    numberList(rows.map(({ interruptSeq }) => interruptSeq)),
    textList(rows.map(({ interruptDueAt }) => interruptDueAt ?? '')),
    numberList(rows.map(({ endedSeq }) => endedSeq)),
    textList(rows.map(({ endedAt }) => endedAt ?? '')),
    textList(rows.map(({ outcome }) => outcome ?? '')),
  ])
}

const writeRequests = async (connection: Connection, rows: Rows<'requests'>): Promise<void> => {
  if (rows.length === 0) return
  await connection.query(requestsSql, [
    sessionsVersion,
    ...ofSessions(rows),
    textList(rows.map(({ requestId }) => requestId)),
    numberList(rows.map(({ position }) => position)),
    textList(rows.map(({ kind }) => kind)),
    textList(rows.map(({ status }) => status)),
    textList(rows.map(({ reason }) => reason ?? '')),
    numberList(rows.map(({ openedSeq }) => openedSeq)),
    textList(rows.map(({ openedAt }) => openedAt)),
    textList(rows.map(({ expiresAt }) => expiresAt ?? '')),
    numberList(rows.map(({ settledSeq }) => settledSeq)),
    textList(rows.map(({ settledAt }) => settledAt ?? '')),
  ])
}

const writeWaiting = async (connection: Connection, lists: Lists): Promise<void> => {
  const { changed, waiting } = lists
  const rows = changedOf(waiting, changed.waiting)
  const gone = [...changed.waiting]
    .filter((key) => !waiting.has(key))
    .map((key) => key.split(' ') as [string, string, string])
  if (gone.length > 0) {
    await connection.query(goneSql, [
      sessionsVersion,
      numberList(gone.map(([sid]) => Number(sid))),
      textList(gone.map(([, kind]) => kind)),
      textList(gone.map(([, , id]) => id)),
    ])
  }
  if (rows.length === 0) return
  await connection.query(waitingSql, [
    sessionsVersion,
    ...ofSessions(rows),
    textList(rows.map(({ kind }) => kind)),
    textList(rows.map(({ id }) => id)),
    numberList(rows.map(({ seq }) => seq)),
  ])
}

const ofSessions = (rows: readonly Entry<unknown>[]): [string, string] => [
  numberList(rows.map(({ sid }) => sid)),
  numberList(rows.map(({ tenant }) => tenant)),
]

const turnsSql = `insert into stemma.turn
    (version, sid, tenant, turn_id, owner_id, incarnation, fence, released, started_seq, started_at,
      held_seq, claims, interrupt_seq, interrupt_due_at, ended_seq, ended_at, outcome)
  select $1, u.sid, u.tenant, u.turn_id, u.owner_id, u.incarnation, u.fence, u.released,
      u.started_seq, u.started_at::timestamptz, u.held_seq, u.claims::json, u.interrupt_seq,
      nullif(u.due_at, '')::timestamptz, u.ended_seq, nullif(u.ended_at, '')::timestamptz,
      nullif(u.outcome, '')
    from unnest($2::text::bigint[], $3::text::int[], string_to_array($4, chr(30)),
      string_to_array($5, chr(30)), $6::text::bigint[], $7::text::bigint[], $8::text::boolean[],
      $9::text::bigint[], string_to_array($10, chr(30)), $11::text::bigint[],
      string_to_array($12, chr(30)), $13::text::bigint[], string_to_array($14, chr(30)),
      $15::text::bigint[], string_to_array($16, chr(30)), string_to_array($17, chr(30)))
      u(sid, tenant, turn_id, owner_id, incarnation, fence, released, started_seq, started_at,
        held_seq, claims, interrupt_seq, due_at, ended_seq, ended_at, outcome)
  on conflict (version, sid, turn_id) do update
    set owner_id = excluded.owner_id, incarnation = excluded.incarnation, fence = excluded.fence,
      released = excluded.released, held_seq = excluded.held_seq, claims = excluded.claims,
      interrupt_seq = excluded.interrupt_seq, interrupt_due_at = excluded.interrupt_due_at,
      ended_seq = excluded.ended_seq, ended_at = excluded.ended_at, outcome = excluded.outcome`

const requestsSql = `insert into stemma.request
    (version, sid, tenant, request_id, position, kind, status, reason, opened_seq, opened_at,
      expires_at, settled_seq, settled_at)
  select $1, u.sid, u.tenant, u.request_id, u.position, u.kind, u.status, nullif(u.reason, ''),
      u.opened_seq, u.opened_at::timestamptz, nullif(u.expires_at, '')::timestamptz,
      u.settled_seq, nullif(u.settled_at, '')::timestamptz
    from unnest($2::text::bigint[], $3::text::int[], string_to_array($4, chr(30)),
      $5::text::bigint[], string_to_array($6, chr(30)), string_to_array($7, chr(30)),
      string_to_array($8, chr(30)), $9::text::bigint[], string_to_array($10, chr(30)),
      string_to_array($11, chr(30)), $12::text::bigint[], string_to_array($13, chr(30)))
      u(sid, tenant, request_id, position, kind, status, reason, opened_seq, opened_at, expires_at,
        settled_seq, settled_at)
  on conflict (version, sid, request_id) do update
    set status = excluded.status, reason = excluded.reason, settled_seq = excluded.settled_seq,
      settled_at = excluded.settled_at`

const goneSql = `delete from stemma.waiting w
  using unnest($2::text::bigint[], string_to_array($3, chr(30)), string_to_array($4, chr(30)))
    u(sid, kind, id)
  where w.version = $1 and w.sid = u.sid and w.kind = u.kind and w.id = u.id`

const waitingSql = `insert into stemma.waiting (version, sid, tenant, kind, id, seq)
  select $1, u.sid, u.tenant, u.kind, u.id, u.seq
    from unnest($2::text::bigint[], $3::text::int[], string_to_array($4, chr(30)),
      string_to_array($5, chr(30)), $6::text::bigint[]) u(sid, tenant, kind, id, seq)
  on conflict (version, sid, kind, id) do update set seq = excluded.seq`
