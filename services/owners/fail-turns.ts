import { Refusal } from '../../schema/errors.ts'
import type { Pool } from '../database/pool.ts'
import { createLane } from '../lane.ts'
import { newId } from '../log/new-id.ts'
import type { Log } from '../log/open-log.ts'
import { readOwnerTurns, type OwnerTurnsPage } from '../reads/owner-turns.ts'

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
  const held: { readonly sessionId: string; readonly turnId: string }[] = []
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: OwnerTurnsPage = await readOwnerTurns(pool, { tenant, ownerId, limit: 500, after })
    held.push(...page.data)
    after = page.next
  }
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

/** What says of a turn that it is not theirs any more. */
const isOthers: ReadonlySet<string> = new Set([
  'wrong_state',
  'turn_settled',
  'session_deleted',
  'session_not_found',
])
