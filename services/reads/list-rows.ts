import {
  emptyLists,
  isRequest,
  isTurn,
  rowKey,
  type Entry,
  type ListEvent,
  type Lists,
} from '../../projections/lists/fold-lists.ts'
import { requestIdOf } from '../../projections/requests/fold.ts'
import type { RequestRow } from '../../projections/requests/request-row.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import { turnIdOf } from '../../projections/turns/fold.ts'
import type { TurnClaim, TurnRow } from '../../projections/turns/turn-row.ts'
import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'

export const turnColumns = `t.sid, t.tenant, t.turn_id, t.owner_id, t.incarnation, t.fence, t.released,
  t.started_seq, t.started_at, t.held_seq, t.claims::text as claims, t.interrupt_seq,
  t.interrupt_due_at, t.ended_seq, t.ended_at, t.outcome`

export type StoredTurn = {
  sid: number
  tenant: number
  turn_id: string
  owner_id: string
  incarnation: number | null
  fence: number
  released: boolean
  started_seq: number
  started_at: string
  held_seq: number
  claims: string
  interrupt_seq: number | null
  interrupt_due_at: string | null
  ended_seq: number | null
  ended_at: string | null
  outcome: TurnRow['outcome']
}

export const turnEntry = (row: StoredTurn): Entry<TurnRow> => ({
  sid: row.sid,
  tenant: row.tenant,
  turnId: row.turn_id,
  ownerId: row.owner_id,
  incarnation: row.incarnation,
  fence: row.fence,
  released: row.released,
  startedSeq: row.started_seq,
  startedAt: row.started_at,
  heldSeq: row.held_seq,
  claims: JSON.parse(row.claims) as readonly TurnClaim[],
  interruptSeq: row.interrupt_seq,
  interruptDueAt: row.interrupt_due_at,
  endedSeq: row.ended_seq,
  endedAt: row.ended_at,
  outcome: row.outcome,
})

export const requestColumns = `r.sid, r.tenant, r.request_id, r.position, r.kind, r.status, r.reason,
  r.opened_seq, r.opened_at, r.expires_at, r.settled_seq, r.settled_at`

export type StoredRequest = {
  sid: number
  tenant: number
  request_id: string
  position: number
  kind: RequestRow['kind']
  status: RequestRow['status']
  reason: RequestRow['reason']
  opened_seq: number
  opened_at: string
  expires_at: string | null
  settled_seq: number | null
  settled_at: string | null
}

export const requestEntry = (row: StoredRequest): Entry<RequestRow> => ({
  sid: row.sid,
  tenant: row.tenant,
  requestId: row.request_id,
  position: row.position,
  kind: row.kind,
  status: row.status,
  reason: row.reason,
  openedSeq: row.opened_seq,
  openedAt: row.opened_at,
  expiresAt: row.expires_at,
  settledSeq: row.settled_seq,
  settledAt: row.settled_at,
})

/** The kept rows that these events are about, and the active turns of their sessions. */
export const loadLists = async (
  connection: Connection,
  events: readonly ListEvent[],
): Promise<Lists> => {
  const lists = emptyLists()
  if (events.length === 0) return lists
  const turns = keysOf(
    events.filter(({ type }) => isTurn(type)),
    turnIdOf,
  )
  const requests = keysOf(
    events.filter(({ type }) => isRequest(type)),
    requestIdOf,
  )
  const sids = [...new Set(events.map(({ sid }) => sid))]
  const storedTurns = await connection.query<StoredTurn>(turnsSql, [
    sessionsVersion,
    numberList(turns.map(({ sid }) => sid)),
    turns.map(({ id }) => id).join(' '),
    numberList(sids),
  ])
  for (const turn of storedTurns.map(turnEntry)) {
    const key = rowKey(turn.sid, turn.turnId)
    lists.turns.set(key, turn)
    if (turn.endedSeq === null) lists.active.set(turn.sid, key)
  }
  if (requests.length > 0) {
    const stored = await connection.query<StoredRequest>(requestsSql, [
      sessionsVersion,
      numberList(requests.map(({ sid }) => sid)),
      requests.map(({ id }) => id).join(' '),
    ])
    for (const request of stored.map(requestEntry)) {
      lists.requests.set(rowKey(request.sid, request.requestId), request)
    }
  }
  return lists
}

const keysOf = (events: readonly ListEvent[], idOf: (event: ListEvent) => string) => [
  ...new Map(
    events.map((event) => {
      const id = idOf(event)
      return [rowKey(event.sid, id), { sid: event.sid, id }]
    }),
  ).values(),
]

const turnsSql = `select ${turnColumns}
  from unnest($2::text::bigint[], string_to_array($3, ' ')) u(sid, id)
    join stemma.turn t on t.version = $1 and t.sid = u.sid and t.turn_id = u.id
union all
select ${turnColumns}
  from unnest($4::text::bigint[]) u(sid)
    join stemma.turn t on t.version = $1 and t.sid = u.sid and t.ended_seq is null
  where not exists (select from unnest($2::text::bigint[], string_to_array($3, ' ')) n(sid, id)
    where n.sid = t.sid and n.id = t.turn_id)`

const requestsSql = `select ${requestColumns}
  from unnest($2::text::bigint[], string_to_array($3, ' ')) u(sid, id)
    join stemma.request r on r.version = $1 and r.sid = u.sid and r.request_id = u.id`
