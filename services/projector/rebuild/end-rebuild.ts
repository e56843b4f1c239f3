import { Refusal } from '../../../schema/errors.ts'
import type { Pool } from '../../database/pool.ts'
import type { Rebuild } from './rebuild.ts'

/** Gives up what a rebuild has written: nothing of it is made live, and it is to be removed. */
export const giveUp = async (
  pool: Pool,
  { name, generation }: Rebuild,
  outcome: 'checked' | 'discarded',
): Promise<void> => {
  const [row] = await pool.use((connection) =>
    connection.query<{ outcome: string | null }>(
      `with given as (update stemma.rebuild set phase = 'removing', outcome = $3
           where name = $1 and version = $2 and outcome is null returning outcome)
       select coalesce((select outcome from given), r.outcome) as outcome
         from stemma.rebuild r where name = $1 and version = $2`,
      [name, generation, outcome],
    ),
  )
  if (row?.outcome !== outcome) {
    throw new Refusal('rebuild_refused', `the rebuild has ended meanwhile: ${row?.outcome}`)
  }
}

/** Nothing is left to do for it. */
export const endRebuild = async (pool: Pool, { name, generation }: Rebuild): Promise<void> => {
  await pool.use((connection) =>
    connection.query(
      `update stemma.rebuild set phase = 'done', ended_at = now()
         where name = $1 and version = $2 and ended_at is null and phase = 'removing'`,
      [name, generation],
    ),
  )
}
