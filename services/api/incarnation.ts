import type { Pool } from '../database/pool.ts'

/** Which log this is: places in one mean nothing in another. */
export const incarnationOf = async (pool: Pool): Promise<string> => {
  if (pool.incarnation === undefined) await pool.use(async () => {})
  return pool.incarnation!
}
