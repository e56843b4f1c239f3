import type { Entry } from '../../projections/lists/fold-lists.ts'
import type { TurnClaim, TurnRow } from '../../projections/turns/turn-row.ts'
import type { EventData, EventType } from '../../schema/events/event-table.ts'
import type { Connection } from '../database/connection.ts'
import type { SessionRow } from '../log/load-session.ts'
import { readEventsAt } from './events-at.ts'
import { readOwnersAlive } from './owners-alive.ts'

/** A turn as it is given out. `ownerId` and `fence` are those it is, or was last, held under. */
export type Turn = {
  readonly turnId: string
  readonly status: 'active' | 'ended'
  readonly ownerId: string
  readonly incarnation?: number
  readonly fence: number
  /** Of an active turn: false if it may be claimed. */
  readonly ownerAlive?: boolean
  readonly released?: true
  readonly inputs: readonly string[]
  readonly resumes?: readonly string[]
  readonly claims: readonly TurnClaim[]
  readonly startedSeq: number
  readonly startedAt: string
  readonly endedSeq?: number
  readonly endedAt?: string
  readonly outcome?: 'completed' | 'failed' | 'interrupted'
  readonly stopReason?: string
  readonly error?: EventData<'turn.ended'>['error']
  /** What asked to interrupt it first; `dueAt`: when the store ends the turn itself. */
  readonly interrupt?: NonNullable<EventData<'turn.ended'>['interrupt']> & {
    readonly requestedSeq?: number
    readonly requestedAt?: string
    readonly dueAt?: string
  }
}

/** Rows of one session's turns with what the log says of them. */
export const toTurns = async (
  connection: Connection,
  session: SessionRow,
  rows: readonly Entry<TurnRow>[],
): Promise<Turn[]> => {
  const { sid } = session
  const open = session.state.turn?.turnId
  // What an importer ended may be active again, before any event of the turn says so.
  const current = rows.map((row) =>
    row.turnId === open ? { ...row, endedSeq: null, endedAt: null, outcome: null } : row,
  )
  const alive = current.some(({ endedSeq }) => endedSeq === null)
    ? (await readOwnersAlive(connection, [session])).get(sid)
    : undefined
  const eventAt = await readEventsAt(
    connection,
    current.flatMap(({ startedSeq, interruptSeq, endedSeq }) =>
      [startedSeq, interruptSeq, endedSeq].map((seq) => (seq === null ? null : { sid, seq })),
    ),
  )
  const dataAt = <T extends EventType>(_type: T, seq: number | null): EventData<T> | undefined =>
    seq === null ? undefined : (eventAt({ sid, seq })?.data as EventData<T>)
  return current.map((row): Turn => {
    const started = dataAt('turn.started', row.startedSeq)!
    const ended = dataAt('turn.ended', row.endedSeq)
    const asked = dataAt('turn.interrupt.requested', row.interruptSeq)
    const interrupt = ended ? ended.interrupt : asked
    return {
      turnId: row.turnId,
      status: row.endedSeq === null ? 'active' : 'ended',
      ownerId: row.ownerId,
      ...(row.incarnation !== null && { incarnation: row.incarnation }),
      fence: row.fence,
      ...(row.endedSeq === null && alive !== undefined && { ownerAlive: alive }),
      ...(row.released && row.endedSeq === null && { released: true as const }),
      inputs: started.inputs,
      ...(started.resumes && { resumes: started.resumes }),
      claims: row.claims,
      startedSeq: row.startedSeq,
      startedAt: row.startedAt,
      ...(row.endedSeq !== null && { endedSeq: row.endedSeq, endedAt: row.endedAt! }),
      ...(row.outcome !== null && { outcome: row.outcome }),
      ...(ended?.stopReason !== undefined && { stopReason: ended.stopReason }),
      ...(ended?.error && { error: ended.error }),
      ...(interrupt && {
        interrupt: {
          reason: interrupt.reason,
          by: interrupt.by,
          ...(row.interruptSeq !== null && {
            requestedSeq: row.interruptSeq,
            requestedAt: eventAt({ sid, seq: row.interruptSeq })!.occurredAt,
          }),
          ...(row.interruptDueAt !== null && { dueAt: row.interruptDueAt }),
        },
      }),
    }
  })
}
