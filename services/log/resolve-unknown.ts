import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import { ConnectionLost, DatabaseError, type Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { appendAlone, tryAgain } from './append-alone.ts'
import { guardFailed } from './append-call.ts'
import { loadForDecision } from './load-session.ts'
import type { Share } from './pending.ts'
import type { Decidable } from './rules/decidable.ts'
import type { DecidedEvent } from './rules/draft.ts'
import { sameContent } from './rules/find-duplicates.ts'
import { voidCall } from './void-call.ts'

/** A call whose answer was lost, and the log that it was sent to. */
export type Lost = { readonly share: Share; readonly incarnation: string | undefined }

/**
 * Finds out what became of a share whose call was lost: the session as it is now if the share is in
 * the log, undefined if it is not and cannot come any more (the head has passed it, or the call
 * was made void). A look that finds nothing at the expected head proves nothing, for the old backend may
 * still commit: then the same events are sent again with the same expected head, until the answer is
 * definite.
 */
export const resolveUnknown = async (
  pool: Pool,
  { share, incarnation }: Lost,
  deadline: number,
): Promise<Decidable | undefined> => {
  const { append: sent, target } = share
  let pause = 20
  while (Date.now() < deadline) {
    try {
      const found = await pool.use(async (connection) => {
        const loaded = await loadForDecision(connection, target, {
          eventIds: sent.events.map((event) => event.eventId),
          names: new Set(),
        })
        // Another log may have come behind the connection: its session of that number is not ours.
        if (pool.incarnation !== incarnation) throw new OtherLog()
        if (sent.sid !== 0 && loaded.session.sid !== sent.sid) throw new OtherLog()
        // Each of them: one alone may have come through another server, sent there by its caller.
        const there = (event: DecidedEvent): boolean => {
          const stored = loaded.facts.events.get(event.eventId)
          return stored?.seq === event.seq && sameContent(stored, event)
        }
        if (sent.events.every(there)) return { session: loaded.session }
        if (loaded.session.head > sent.expected) return { session: undefined }
        const result = await sendAgain(connection, share)
        if (result === 'void') return { session: undefined }
        // Ids are looked at after the compare, under the lock: the lost call must fail on them too.
        if (result === 'taken') return { session: undefined }
        return result.outcome === 'ok'
          ? { session: { sid: result.sid, head: sent.head, state: sent.state } }
          : undefined
      })
      if (found) return found.session
    } catch (error) {
      const passing =
        error instanceof ConnectionLost ||
        (error instanceof DatabaseError && tryAgain.has(error.code)) ||
        (error instanceof Refusal && error.code === 'overloaded')
      // Whatever else is wrong with the look, it does not say that nothing was stored.
      if (!passing) throw unknownOutcome(error)
    }
    await sleep(pause)
    pause = Math.min(pause * 2, 500)
  }
  throw unknownOutcome(undefined)
}

/**
 * `void`: a guard does not hold any more, so the call cannot be sent again; and the lost one, which may
 * have been checked before, or may come when the guard holds again, stores nothing from here on.
 */
const sendAgain = async (connection: Connection, share: Share) => {
  try {
    return await appendAlone(connection, share)
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === guardFailed)) throw error
    if (await voidCall(connection, share.append)) return 'void'
    throw error
  }
}

class OtherLog extends Error {
  override readonly name = 'OtherLog'
}

const unknownOutcome = (cause: unknown): Refusal =>
  new Refusal(
    'outcome_unknown',
    'the connection to the database was lost during the append',
    cause === undefined ? {} : { cause },
  )
