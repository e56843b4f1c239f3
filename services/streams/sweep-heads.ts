import type { Pool } from '../database/pool.ts'
import type { Ring } from '../bus/bus.ts'

/** The heads that sessions reached between two positions of the log. */
export const sweepHeads = (
  pool: Pool,
  afterPosition: number,
  throughPosition: number,
): Promise<Ring[]> =>
  pool.use((connection) =>
    connection.query<Ring>(
      `select sid, max(seq) as "headSeq" from stemma.event
         where position > $1 and position <= $2 group by sid`,
      [afterPosition, throughPosition],
    ),
  )
