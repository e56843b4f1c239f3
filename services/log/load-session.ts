import type { EventMeta } from '../../schema/events/envelope.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Target } from './command.ts'
import { absentSession, type Decidable } from './rules/decidable.ts'
import type { Facts } from './rules/decide.ts'
import { type NameFact } from './rules/draft.ts'
import { clockFact, kindOf, kindsWithData } from './rules/names.ts'
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

/** The same for sessions that are known by their sids, in any order. */
export const readSessionsBySid = async (
  connection: Connection,
  sids: readonly number[],
): Promise<SessionRow[]> => {
  if (sids.length === 0) return []
  const rows = await connection.query<Stored>(
    `select sid, tenant, session_id, head, state, state_version, created_at
       from stemma.session where sid = any ($1::text::bigint[])`,
    [`{${sids.join(',')}}`],
  )
  return rows.map(sessionRow)
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
  const names = [...wanted.names]
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
    names.filter((name) => !isFact(name)).join(' '),
    wanted.commandId ?? '',
    idsOf(names, 'owner').join(' '),
    idsOf(names, 'child').join(' '),
    names.includes(clockFact),
  ])
  let session = absentSession
  let receipt: Loaded['receipt']
  const events = new Map<string, KnownEvent>()
  const facts = new Map<string, NameFact | undefined>(names.map((name) => [name, undefined]))
  for (const { kind, key, n, a, b, c, version } of rows) {
    if (kind === 'session') {
      session = { sid: Number(key), head: n, state: readState(a!, version) }
    } else if (kind === 'event') {
      const meta = JSON.parse(c!) as EventMeta
      events.set(key, { seq: n, type: a!, version, data: JSON.parse(b!) as unknown, meta })
    } else if (kind === 'name') {
      const at = b === null ? {} : { at: Number(b) }
      facts.set(key, { seq: n, data: a === null ? undefined : (JSON.parse(a) as unknown), ...at })
    } else receipt = { requestHash: a!, route: b!, result: JSON.parse(c!) as unknown }
  }
  return { session, facts: { names: facts, events }, ...(receipt && { receipt }) }
}

const isFact = (name: string): boolean => ['owner', 'child', 'clock'].includes(kindOf(name))

const idsOf = (names: readonly string[], kind: 'owner' | 'child'): string[] =>
  names.filter((name) => kindOf(name) === kind).map((name) => name.slice(kind.length + 1))

const withDataSql = kindsWithData.map((kind) => `'${kind}'`).join(', ')

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
select 'name', n.name, n.seq, e.data::text, (extract(epoch from e.recorded_at) * 1000)::bigint::text,
    null, 0
  from s join stemma.name n on n.sid = s.sid and n.name = any (string_to_array($4, ' '))
    left join stemma.event e on split_part(n.name, ':', 1) in (${withDataSql})
      and e.sid = n.sid and e.seq = n.seq
union all
select 'name', 'owner:' || u.id, o.incarnation, json_build_object('incarnation', o.incarnation,
    'ended', o.ended, 'lost', o.lost, 'lapsesAt', o.lapses_at)::text, null, null, 0
  from unnest(string_to_array($6, ' ')) u(id)
    cross join lateral stemma.owner_now_v1($1::int, u.id) o
union all
select 'name', 'child:' || c.session_id, c.head, c.state::text, null, null, 0
  from stemma.session c where c.tenant = $1 and c.session_id = any (string_to_array($7, ' '))
union all
select 'name', 'clock:', 0, null, (extract(epoch from clock_timestamp()) * 1000)::bigint::text, null, 0
  where $8::boolean
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
