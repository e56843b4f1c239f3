import { Refusal } from '../../../schema/errors.ts'
import type { Pool } from '../../database/pool.ts'
import { runTransaction } from '../../database/run-transaction.ts'
import type { Rebuild } from './rebuild.ts'

/**
 * Makes the generation live by updating one row, if the one that it replaces still is: `swapped`. Of
 * several jobs one does it; for the others it is `live` already. Not if its rows are still to be
 * compared: `unverified`. Throws Refusal `rebuild_refused` if another generation is live, or if the
 * rebuild was discarded.
 */
export const makeLive = (
  pool: Pool,
  { name, generation, replaces }: Rebuild,
): Promise<'swapped' | 'live' | 'unverified'> =>
  runTransaction(pool, {}, async (connection) => {
    const [projection] = await connection.query<{ live: number }>(
      'select live_version as live from stemma.projection where name = $1 for update',
      [name],
    )
    if (projection?.live === generation) return 'live'
    const [rebuild] = await connection.query<{ phase: string; unverified: boolean }>(
      `select phase, verify and exists (select from stemma.rebuild_range
           where name = $1 and version = $2 and not verified) as unverified
         from stemma.rebuild where name = $1 and version = $2 for update`,
      [name, generation],
    )
    if (rebuild?.phase !== 'filling' && rebuild?.phase !== 'verifying') {
      throw new Refusal(
        'rebuild_refused',
        `generation ${generation} is not to be made live any more`,
      )
    }
    if (rebuild.unverified) return 'unverified'
    const moved = await connection.query(
      `update stemma.projection set live_version = $2 where name = $1 and live_version = $3
         returning live_version`,
      [name, generation, replaces],
    )
    if (moved.length === 0) {
      throw new Refusal('rebuild_refused', `generation ${projection?.live} was made live meanwhile`)
    }
    await connection.query(
      `update stemma.projection_generation set state = 'whole' where name = $1 and version = $2`,
      [name, generation],
    )
    await connection.query(
      `update stemma.rebuild set phase = 'removing', outcome = 'live' where name = $1 and version = $2`,
      [name, generation],
    )
    return 'swapped'
  })
