import { Refusal } from '../../schema/errors.ts'
import type { EventType } from '../../schema/events/event-table.ts'
import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readSessions, type SessionRow } from '../log/load-session.ts'
import {
  sessionStatus,
  type OpenCall,
  type OpenStep,
  type OpenTurn,
  type SessionState,
} from '../log/session-state.ts'
import { changedMessages, type Changed } from './changed-messages.ts'
import { readOwnersAlive } from './owners-alive.ts'
import { readNamed, type NamedEvent } from './read-named.ts'
import { waitingNames, waitingOf, type Input } from './read-inputs.ts'
import { openRequestNames, openRequestsOf, type OpenRequest } from './read-open-requests.ts'

export type Asked = { readonly sessionId: string; readonly afterSeq: number }

/** Events between what a host has and the head; above it the pages are cheaper. */
const mostEvents = 1_000
/** What a reply may take in all. */
const mostBytes = 8 * 1024 * 1024

export type SyncedSession = {
  readonly sessionId: string
  readonly headSeq: number
  readonly status: 'idle' | 'running' | 'requires_action'
  readonly ownerAlive?: boolean
  readonly turn?: Pick<OpenTurn, 'turnId' | 'ownerId' | 'incarnation' | 'fence' | 'startedSeq'> &
    Pick<OpenTurn, 'released'> & {
      readonly interrupt?: { readonly seq: number; readonly graceMs?: number }
    }
  readonly step?: {
    readonly messageId: string
    readonly attempt: number
    readonly calls: readonly UnsettledCall[]
  }
  readonly openRequests: readonly OpenRequest[]
  readonly inputs: readonly Input[]
  readonly messages: Changed | { readonly reset: true; readonly reason: ResetReason }
  readonly followSeq: number
}

export type UnsettledCall = Pick<
  OpenCall,
  'effect' | 'effectKey' | 'requestId' | 'childSessionId'
> & {
  readonly callId: string
  readonly status: 'streaming' | 'called' | 'waiting' | 'dispatched'
}

export type ResetReason = 'other_log' | 'ahead' | 'lineage' | 'long' | 'stalled'

/** A session as JSON text, or why there is none. */
export type Entry = { readonly sessionId: string } & (
  | { readonly text: string }
  | { readonly refusal: Refusal }
)

/**
 * What a host needs to bring its copies of some sessions up to date, all from one snapshot, in the
 * order in which it asked. A session that is deleted or not there holds up none of the others. What
 * would make the reply longer than 8 MiB is left out: first a session's messages (`long`), then the
 * session (`too_large`).
 */
export const readSync = async (
  pool: Pool,
  tenant: number,
  asked: readonly Asked[],
  givenLog?: string,
): Promise<{ readonly entries: readonly Entry[]; readonly log: string }> =>
  runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (connection) => {
    const log = pool.incarnation!
    const targets = asked.map(({ sessionId }) => ({ tenant, sessionId }))
    const rows = await readSessions(connection, targets)
    const there = rows.filter((row) => row !== undefined).filter((row) => !row.state.deleted)
    const alive = await readOwnersAlive(connection, there)
    const named = await readNamed(
      connection,
      there.map((row) => ({
        sid: row.sid,
        names: [...openRequestNames(row), ...waitingNames(row)],
      })),
    )
    const asks = asked.map((ask, index) => ({ ...ask, session: rows[index] }))
    const moved = await readMoved(connection, asks)
    const entries: Entry[] = []
    let bytes = 0
    for (const [index, { sessionId, afterSeq, session }] of asks.entries()) {
      const refusal = refusalOf(sessionId, session)
      if (refusal) {
        entries.push({ sessionId, refusal })
        continue
      }
      const open = openOf(session!, alive.get(session!.sid), named.get(session!.sid)!)
      const reset = (reason: ResetReason) => ({ reset: true, reason }) as const
      const given = givenLog !== undefined && givenLog !== log ? 'other_log' : undefined
      const why = given ?? resetOf(session!, afterSeq, moved.has(index))
      const messages =
        why ?? (await changedMessages(connection, session!, afterSeq, mostBytes - bytes))
      const textOf = (of: SyncedSession['messages']): string =>
        JSON.stringify({ ...open, messages: of, followSeq: open.headSeq } satisfies SyncedSession)
      let text = textOf(typeof messages === 'string' ? reset(messages) : messages)
      if (bytes + Buffer.byteLength(text) > mostBytes) text = textOf(reset('long'))
      if (bytes + Buffer.byteLength(text) > mostBytes) {
        entries.push({ sessionId, refusal: tooLarge() })
        continue
      }
      bytes += Buffer.byteLength(text)
      entries.push({ sessionId, text })
    }
    return { entries, log }
  })

const refusalOf = (sessionId: string, session: SessionRow | undefined): Refusal | undefined => {
  if (!session) return new Refusal('session_not_found', `there is no session ${sessionId}`)
  if (!session.state.deleted) return undefined
  const members = { headSeq: session.headSeq }
  return new Refusal('session_deleted', `session ${sessionId} is deleted`, { members })
}

const tooLarge = (): Refusal =>
  new Refusal('too_large', 'the reply has no room for this session: ask for fewer at once')

const resetOf = (
  { headSeq }: SessionRow,
  afterSeq: number,
  moved: boolean,
): ResetReason | undefined => {
  if (afterSeq > headSeq) return 'ahead'
  if (headSeq - afterSeq > mostEvents) return 'long'
  return moved ? 'lineage' : undefined
}

/** After these, what is shown is another transcript; `client/` asks for the page again, too. */
const lineageTypes = [
  'session.forked',
  'revert.committed',
  'revert.reinstated',
  'part.redacted',
] as const satisfies readonly EventType[]

/** Which of the sessions, by their place in the request, have such an event after their seq. */
const readMoved = async (
  connection: Connection,
  asks: readonly (Asked & { readonly session: SessionRow | undefined })[],
): Promise<Set<number>> => {
  const near = asks.flatMap(({ session, afterSeq }, index) => {
    const behind = session ? session.headSeq - afterSeq : 0
    return behind > 0 && behind <= mostEvents ? [{ sid: session!.sid, afterSeq, index }] : []
  })
  if (near.length === 0) return new Set()
  const rows = await connection.query<{ index: number }>(
    `select u.index from unnest($1::text::bigint[], $2::text::bigint[], $3::text::int[])
         u(sid, after, index)
       where exists (select from stemma.event e where e.sid = u.sid and e.seq > u.after
         and e.type = any (string_to_array($4, ' ')))`,
    [
      numberList(near.map(({ sid }) => sid)),
      numberList(near.map(({ afterSeq }) => afterSeq)),
      numberList(near.map(({ index }) => index)),
      lineageTypes.join(' '),
    ],
  )
  return new Set(rows.map(({ index }) => index))
}

const openOf = (
  session: SessionRow,
  ownerAlive: boolean | undefined,
  named: readonly NamedEvent[],
): Omit<SyncedSession, 'messages' | 'followSeq'> => {
  const { turn, step } = session.state
  return {
    sessionId: session.sessionId,
    headSeq: session.headSeq,
    status: sessionStatus(session.state),
    ...(ownerAlive !== undefined && { ownerAlive }),
    ...(turn && { turn: turnOf(turn) }),
    ...(step && { step: stepOf(step, session.state) }),
    openRequests: openRequestsOf(session, named),
    inputs: waitingOf(session, named),
  }
}

const turnOf = (turn: OpenTurn): NonNullable<SyncedSession['turn']> => {
  const { turnId, ownerId, incarnation, fence, startedSeq, released, interrupt } = turn
  return {
    turnId,
    ownerId,
    ...(incarnation !== undefined && { incarnation }),
    fence,
    startedSeq,
    ...(released && { released }),
    ...(interrupt && {
      interrupt: {
        seq: interrupt.seq,
        ...(interrupt.graceMs !== undefined && { graceMs: interrupt.graceMs }),
      },
    }),
  }
}

const stepOf = (step: OpenStep, state: SessionState): NonNullable<SyncedSession['step']> => ({
  messageId: step.messageId,
  attempt: step.attempt,
  calls: Object.entries(step.calls ?? {}).map(([callId, call]) => callOf(callId, call, state)),
})

const callOf = (callId: string, call: OpenCall, { requests }: SessionState): UnsettledCall => {
  const { status, effect, effectKey, requestId, childSessionId } = call
  const waits = requestId !== undefined && Object.hasOwn(requests ?? {}, requestId)
  return {
    callId,
    status: waits ? 'waiting' : status === 'streamed' ? 'streaming' : status,
    ...(effect && { effect }),
    ...(effectKey !== undefined && { effectKey }),
    ...(requestId !== undefined && { requestId }),
    ...(childSessionId !== undefined && { childSessionId }),
  }
}
