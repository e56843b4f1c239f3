import { Refusal } from '../../schema/errors.ts'
import type { Pool } from '../database/pool.ts'
import { createLane } from '../lane.ts'
import { newId } from '../log/new-id.ts'
import type { Log } from '../log/open-log.ts'
import type { SessionState } from '../log/session-state.ts'

type Exit = {
  readonly tenant: number
  readonly ownerId: string
  readonly incarnation: number
  readonly reason: string
}

type Failed = { readonly sessionId: string; readonly turnId: string }

/** Turns that are worked on at once: they go out together in the same calls. */
const atOnce = 32

/**
 * Ends the turns of an incarnation that has exited as failed. What has been claimed, released or
 * ended meanwhile is left alone; the same again finishes what a server that died began.
 */
export const failTurns = async (
  { pool, log }: { readonly pool: Pool; readonly log: Pick<Log, 'execute'> },
  { tenant, ownerId, incarnation, reason }: Exit,
): Promise<Failed[]> => {
  const held = await readHeld(pool, tenant, ownerId)
  const lane = createLane(atOnce)
  const failed = await Promise.all(
    held.map(({ sessionId, turnId }) =>
      lane(async (): Promise<Failed[]> => {
        try {
          await log.execute({
            tenant,
            sessionId,
            kind: 'fail-turn',
            turnId,
            ownerId,
            incarnation,
            reason,
            eventId: newId('evt'),
          })
          return [{ sessionId, turnId }]
        } catch (error) {
          if (error instanceof Refusal && isOthers.has(error.code)) return []
          throw error
        }
      }),
    ),
  )
  return failed.flat()
}

/** The turns that an owner holds, whatever its incarnation. */
const readHeld = async (pool: Pool, tenant: number, ownerId: string): Promise<Failed[]> => {
  // By its text: SQL cannot look into a state that holds a NUL (a finish may), and would fail on it
  // whoever's it is. Inside of strings the quotes of the needle are escaped, so it matches no text.
  const rows = await pool.use((connection) =>
    connection.query<{ session_id: string; state: string }>(
      `select session_id, state::text as state from stemma.session
         where tenant = $1 and strpos(state::text, $2) > 0`,
      [tenant, `"ownerId":${JSON.stringify(ownerId)}`],
    ),
  )
  return rows.flatMap(({ session_id: sessionId, state }) => {
    const { turn } = JSON.parse(state) as SessionState
    return turn?.ownerId === ownerId ? [{ sessionId, turnId: turn.turnId }] : []
  })
}

/** What says of a turn that it is not theirs any more. */
const isOthers: ReadonlySet<string> = new Set([
  'wrong_state',
  'turn_settled',
  'session_deleted',
  'session_not_found',
])
