import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import { ConnectionLost, DatabaseError, type Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { appendAlone, tryAgain } from './append-alone.ts'
import type { Outcome } from './command.ts'
import { loadForDecision, lockSession, type Loaded } from './load-session.ts'
import { eventIdsOf, receiptsOf, shareOf, type Pending, type Share } from './pending.ts'
import type { Decidable } from './rules/decidable.ts'
import { decide, type Decision, type Limits } from './rules/decide.ts'
import { resolveUnknown } from './resolve-unknown.ts'
import { writeReceipt } from './write-receipt.ts'

/** What the careful way found: the outcome, and the session as it is now, if it is known. */
export type Settled = { readonly outcome: Outcome; readonly session: Decidable | undefined }

const lockTimeoutMs = 2_000

/**
 * The second lane: decides one command on the state as it is in the database, with all that it may
 * need looked up, and appends it alone. Every refusal that leaves the log was made here. After
 * `lost` lost compares (two in all) it decides under the row's lock, so that nobody starves.
 */
export const runCarefully = async (
  pool: Pool,
  pending: Pending,
  lostCompares: number,
  limits: Limits,
): Promise<Settled> => {
  let lost = lostCompares
  const names = new Set<string>()
  const sending: Sending = { share: undefined, incarnation: undefined }
  while (Date.now() < pending.deadline) {
    try {
      const attempt =
        lost >= 2
          ? await runTransaction(pool, { lockTimeoutMs }, async (connection) => {
              await lockSession(connection, pending.command)
              return tryOnce(pool, connection, pending, names, sending, limits)
            })
          : await pool.use((connection) =>
              tryOnce(pool, connection, pending, names, sending, limits),
            )
      if (attempt.kind === 'settled') return attempt.settled
      if (attempt.kind === 'lost') lost += 1
    } catch (error) {
      if (error instanceof ConnectionLost) {
        // Lost in a read, nothing happened; lost in the append or the commit after it, who knows.
        const { share } = sending
        sending.share = undefined
        if (!share) await sleep(100)
        else {
          const { incarnation } = sending
          const session = await resolveUnknown(pool, { share, incarnation }, pending.deadline)
          if (session) return { outcome: share.commands[0]!.decision.outcome, session }
        }
      } else if (error instanceof DatabaseError && tryAgain.has(error.code)) {
        lost = 2
        await sleep(20 * Math.random())
      } else throw error
    }
  }
  throw new Refusal('overloaded', 'the session could not be written to in time')
}

type Attempt =
  | { readonly kind: 'settled'; readonly settled: Settled }
  | { readonly kind: 'lost' }
  | { readonly kind: 'again' }

/** What was sent and not answered, so that a lost connection can be told from a lost append. */
type Sending = { share: Share | undefined; incarnation: string | undefined }

const tryOnce = async (
  pool: Pool,
  connection: Connection,
  pending: Pending,
  names: Set<string>,
  sending: Sending,
  limits: Limits,
): Promise<Attempt> => {
  const { command } = pending
  sending.share = undefined
  const loaded = await loadForDecision(connection, command, {
    eventIds: eventIdsOf(command),
    names,
    ...(command.receipt && { commandId: command.receipt.commandId }),
  })
  if (loaded.receipt) return { kind: 'settled', settled: replay(loaded, pending) }
  const decision = decide(loaded.session, command, loaded.facts, limits)
  if (decision.kind === 'lookup') {
    for (const name of decision.names) names.add(name)
    return { kind: 'again' }
  }
  if (decision.kind === 'refused') throw decision.refusal
  if (decision.events.length === 0) {
    for (const receipt of receiptsOf({ pending, decision })) {
      const written = await writeReceipt(connection, command, loaded.session, receipt)
      if (written !== 'ok') return { kind: written === 'conflict' ? 'lost' : 'again' }
    }
    return { kind: 'settled', settled: { outcome: decision.outcome, session: loaded.session } }
  }
  const share = shareOf(command, loaded.session, [{ pending, decision }])
  const before = names.size
  sending.share = share
  sending.incarnation = pool.incarnation
  const result = await appendAlone(connection, share)
  if (result === 'taken') {
    // An id is taken. Once its names are looked up, the next decision says which, and why.
    noteNames(decision, names)
    if (names.size === before) throw new Refusal('duplicate_id', 'an id of the request is taken')
    return { kind: 'again' }
  }
  if (result.outcome === 'ok') {
    const session = { sid: result.sid, ...decision.next }
    return { kind: 'settled', settled: { outcome: decision.outcome, session } }
  }
  return result.outcome === 'conflict' || result.outcome === 'locked'
    ? { kind: 'lost' }
    : { kind: 'again' }
}

const noteNames = (decision: Extract<Decision, { kind: 'accepted' }>, names: Set<string>): void => {
  for (const { name } of decision.names) names.add(name)
}

const replay = (loaded: Loaded, { command }: Pending): Settled => {
  const { requestHash, result } = loaded.receipt!
  if (requestHash !== command.receipt!.requestHash) {
    throw new Refusal('key_reused', 'the Idempotency-Key was used for another request')
  }
  return { outcome: { ...(result as Outcome), replayed: true }, session: loaded.session }
}
