import { isListed, listTypes } from '../../projections/lists/fold-lists.ts'
import { sessionInfoTypes } from '../../projections/sessions/fold.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import { ConnectionLost, DatabaseError, type Connection } from '../database/connection.ts'
import { listEventOf, type PlacedEvent } from '../reads/list-event.ts'
import { columnsWithDataOf } from '../reads/session-rows.ts'
import { writeInfos } from './write-infos.ts'
import { writeLists } from './write-lists.ts'

/** Events that are read and written at once. */
export const chunkEvents = 5_000

/** What is read of them. */
export const eventColumns = `e.tenant, ${columnsWithDataOf([...sessionInfoTypes, ...listTypes])}`

/** A session whose lists end before an event that cannot be folded or written. */
export type Stalled = { readonly sid: number; readonly seq: number; readonly code: string }

export const toProblem = ({ sid, seq, code }: Stalled): Error =>
  new Error(`the lists are stalled for session ${sid} at seq ${seq}: ${code}`)

/**
 * Folds events, each session's side by side, into the rows of the lists. If that fails they are
 * halved until the event that fails stands alone: its session is written up to there and set aside.
 * Throws what is no event's fault, as a lost connection or a full disk.
 */
export const writeOrSetAside = async (
  connection: Connection,
  events: readonly PlacedEvent[],
): Promise<readonly Stalled[]> => {
  const [event] = events
  if (!event) return []
  const code = await tryToWrite(connection, events)
  if (code === undefined) return []
  if (events.length === 1) {
    const stalled = { sid: event.sid, seq: event.seq, code }
    await setAside(connection, stalled)
    return [stalled]
  }
  const middle = events.length >> 1
  const first = await writeOrSetAside(connection, events.slice(0, middle))
  const aside = new Set(first.map(({ sid }) => sid))
  const rest = events.slice(middle).filter(({ sid }) => !aside.has(sid))
  return [...first, ...(await writeOrSetAside(connection, rest))]
}

/** Undefined if all is written; else nothing is, and this is why. */
const tryToWrite = async (
  connection: Connection,
  events: readonly PlacedEvent[],
): Promise<string | undefined> => {
  await connection.query('savepoint chunk')
  try {
    await writeInfos(connection, events)
    await writeLists(connection, events.filter(({ type }) => isListed(type)).map(listEventOf))
    await connection.query('release savepoint chunk')
    return undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || connection.lost) throw error
    await connection.query('rollback to savepoint chunk; release savepoint chunk')
    return code
  }
}

/** Cardinality, data, constraints, limits of size: what a value can be guilty of. */
const ofData = /^(21|22|23|54)/

const codeOf = (error: unknown): string | undefined => {
  if (error instanceof ConnectionLost) return undefined
  if (error instanceof DatabaseError) return ofData.test(error.code) ? error.code : undefined
  return error instanceof Error ? error.name : 'unknown'
}

const setAside = (connection: Connection, { sid, seq, code }: Stalled): Promise<unknown> =>
  connection.query(
    `insert into stemma.lists_stalled (version, sid, tenant, seq, code, head, tries, tried_at)
       select $1, sid, tenant, $3, $4, head, 1, clock_timestamp() from stemma.session where sid = $2
     on conflict (version, sid) do update set seq = excluded.seq, code = excluded.code`,
    [sessionsVersion, sid, seq, code],
  )
