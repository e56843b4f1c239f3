import type { EventData } from '../../schema/events/event-table.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { heldName, interruptName, turnEndName, turnName } from '../log/rules/names.ts'
import { inSnapshot } from './in-snapshot.ts'

/** A turn as it is given out. `ownerId` and `fence` are those it is, or was last, held under. */
export type Turn = {
  readonly turnId: string
  readonly status: 'active' | 'ended'
  readonly ownerId: string
  readonly incarnation?: number
  readonly fence: number
  readonly inputs: readonly string[]
  readonly resumes?: readonly string[]
  readonly startedSeq: number
  readonly startedAt: string
  readonly endedSeq?: number
  readonly endedAt?: string
  readonly outcome?: 'completed' | 'failed' | 'interrupted'
  readonly stopReason?: string
  readonly error?: EventData<'turn.ended'>['error']
  readonly interrupt?: EventData<'turn.ended'>['interrupt']
}

/** Throws Refusal `session_not_found`, `session_deleted`, `turn_not_found`. */
export const readTurn = async (
  pool: Pool,
  target: Target,
  turnId: string,
): Promise<{ readonly data: Turn; readonly asOfSeq: number }> =>
  inSnapshot(pool, target, async (connection, session) => {
    const started = await named(connection, session.sid, turnName(turnId))
    if (!started) throw new Refusal('turn_not_found', `the session has no turn ${turnId}`)
    const begun = JSON.parse(started.data) as EventData<'turn.started'>
    const { fence, inputs, resumes } = begun
    const active = session.state.turn?.turnId === turnId ? session.state.turn : undefined
    const end = active ? undefined : await named(connection, session.sid, turnEndName(turnId))
    const ended = end && (JSON.parse(end.data) as EventData<'turn.ended'>)
    const held = active ?? (await lastClaim(connection, session.sid, turnId)) ?? begun
    const interrupt = active?.interrupt
      ? await interruptionOf(connection, session.sid, turnId)
      : ended?.interrupt
    return {
      asOfSeq: session.headSeq,
      data: {
        turnId,
        status: active ? 'active' : 'ended',
        ownerId: held.ownerId,
        ...(held.incarnation !== undefined && { incarnation: held.incarnation }),
        fence: active?.fence ?? ended?.fence ?? fence,
        inputs,
        ...(resumes && { resumes }),
        startedSeq: started.seq,
        startedAt: started.occurred_at,
        ...(end && { endedSeq: end.seq, endedAt: end.occurred_at }),
        ...(ended && {
          outcome: ended.outcome,
          ...(ended.stopReason !== undefined && { stopReason: ended.stopReason }),
          ...(ended.error && { error: ended.error }),
        }),
        ...(interrupt && { interrupt }),
      },
    }
  })

/** Who held an ended turn last, if it has changed hands. */
const lastClaim = async (connection: Connection, sid: number, turnId: string) => {
  const held = await named(connection, sid, heldName(turnId))
  return held?.type === 'turn.claimed'
    ? (JSON.parse(held.data) as EventData<'turn.claimed'>)
    : undefined
}

/** Why and by whom a turn was asked to stop. */
const interruptionOf = async (connection: Connection, sid: number, turnId: string) => {
  const asked = await named(connection, sid, interruptName(turnId))
  if (!asked) return undefined
  const { reason, by } = JSON.parse(asked.data) as EventData<'turn.interrupt.requested'>
  return { reason, by }
}

/** The event that brought a name, or that it points to. */
const named = async (connection: Connection, sid: number, name: string) => {
  const [row] = await connection.query<{
    seq: number
    occurred_at: string
    type: string
    data: string
  }>(
    `select e.seq, e.occurred_at, e.type, e.data::text as data
       from stemma.name n join stemma.event e on e.sid = n.sid and e.seq = n.seq
       where n.sid = $1 and n.name = $2`,
    [sid, name],
  )
  return row
}
