import type { EventMeta } from '../../schema/events/envelope.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Target } from './command.ts'
import { absentSession, type Decidable } from './rules/decidable.ts'
import type { Facts } from './rules/decide.ts'
import { isEndName, type NameFact } from './rules/draft.ts'
import type { KnownEvent } from './rules/find-duplicates.ts'
import { stateVersion, type SessionState } from './session-state.ts'

export type SessionRow = {
  readonly sid: number
  readonly tenant: number
  readonly sessionId: string
  readonly headSeq: number
  readonly state: SessionState
  readonly createdAt: string
}

type Stored = {
  sid: number
  session_id: string
  tenant: number
  head: number
  state: string
  state_version: number
  created_at: string
}

/** The session's row, or undefined if there is no such session. */
export const readSession = async (
  connection: Connection,
  { tenant, sessionId }: Target,
): Promise<SessionRow | undefined> => {
  const [row] = await connection.query<Stored>(
    `select sid, tenant, session_id, head, state, state_version, created_at
       from stemma.session where tenant = $1 and session_id = $2`,
    [tenant, sessionId],
  )
  return row && sessionRow(row)
}

/** The rows of many sessions, in the order of the targets; undefined where there is none. */
export const readSessions = async (
  connection: Connection,
  targets: readonly Target[],
): Promise<(SessionRow | undefined)[]> => {
  const rows = await connection.query<Stored & { o: number }>(
    `select u.o, s.sid, s.tenant, s.session_id, s.head, s.state, s.state_version, s.created_at
       from unnest($1::text::int[], string_to_array($2, ' ')) with ordinality u(tenant, session_id, o)
       join stemma.session s on s.tenant = u.tenant and s.session_id = u.session_id`,
    [`{${targets.map((t) => t.tenant).join(',')}}`, targets.map((t) => t.sessionId).join(' ')],
  )
  const found: (SessionRow | undefined)[] = targets.map(() => undefined)
  for (const row of rows) found[row.o - 1] = sessionRow(row)
  return found
}

/** Locks the session's row until the transaction ends, so that the next decision on it is the last. */
export const lockSession = async (
  connection: Connection,
  { tenant, sessionId }: Target,
): Promise<void> => {
  await connection.query(
    'select sid from stemma.session where tenant = $1 and session_id = $2 for update',
    [tenant, sessionId],
  )
}

export type Wanted = {
  readonly eventIds: readonly string[]
  readonly names: ReadonlySet<string>
  readonly commandId?: string
}

export type Loaded = {
  readonly session: Decidable
  readonly facts: Facts
  readonly receipt?: {
    readonly requestHash: string
    readonly route: string
    readonly result: unknown
  }
}

/**
 * All that a decision may need, read in one statement and so from one snapshot: the session, the
 * events that are there under the ids, the names, the receipt.
 */
export const loadForDecision = async (
  connection: Connection,
  { tenant, sessionId }: Target,
  wanted: Wanted,
): Promise<Loaded> => {
  const rows = await connection.query<{
    kind: 'session' | 'event' | 'name' | 'receipt'
    key: string
    n: number
    a: string | null
    b: string | null
    c: string | null
    version: number
  }>(loadSql, [
    tenant,
    sessionId,
    wanted.eventIds.join(' '),
    [...wanted.names].join(' '),
    wanted.commandId ?? '',
  ])
  let session = absentSession
  let receipt: Loaded['receipt']
  const events = new Map<string, KnownEvent>()
  const names = new Map<string, NameFact | undefined>([...wanted.names].map((n) => [n, undefined]))
  for (const { kind, key, n, a, b, c, version } of rows) {
    if (kind === 'session') {
      session = { sid: Number(key), head: n, state: readState(a!, version) }
    } else if (kind === 'event') {
      const meta = JSON.parse(c!) as EventMeta
      events.set(key, { seq: n, type: a!, version, data: JSON.parse(b!) as unknown, meta })
    } else if (kind === 'name') {
      const data: unknown = a !== null && isEndName(key) ? JSON.parse(a) : undefined
      names.set(key, { seq: n, data })
    } else receipt = { requestHash: a!, route: b!, result: JSON.parse(c!) as unknown }
  }
  return { session, facts: { names, events }, ...(receipt && { receipt }) }
}

// Ids and names hold no blank, so lists travel joined by one.
const loadSql = `
with s as (
  select sid, head, state, state_version from stemma.session where tenant = $1 and session_id = $2)
select 'session' as kind, s.sid::text as key, s.head as n, s.state::text as a, null::text as b,
    null::text as c, s.state_version as version from s
union all
select 'event', e.event_id, e.seq, e.type, e.data::text, e.meta::text, e.version
  from s join stemma.event e on e.sid = s.sid and e.event_id = any (string_to_array($3, ' '))
union all
select 'name', n.name, n.seq, case when n.name like 'ended:%' or n.name like 'unknown:%'
      or n.name = 'title:imported'
    then (select e.data::text from stemma.event e where e.sid = n.sid and e.seq = n.seq) end,
    null, null, 0
  from s join stemma.name n on n.sid = s.sid and n.name = any (string_to_array($4, ' '))
union all
select 'receipt', r.command_id, 0, r.request_hash, r.route, r.result::text, 0
  from s join stemma.receipt r on r.sid = s.sid and r.command_id = $5`

const sessionRow = (row: Stored): SessionRow => ({
  sid: row.sid,
  tenant: row.tenant,
  sessionId: row.session_id,
  headSeq: row.head,
  state: readState(row.state, row.state_version),
  createdAt: row.created_at,
})

/** A newer build's state is not understood here, and must not be written over. */
const readState = (text: string, version: number): SessionState => {
  if (version > stateVersion) {
    throw new Refusal('schema_newer', `a newer build wrote this session's state (${version})`)
  }
  return JSON.parse(text) as SessionState
}
