import type { Connection } from '../database/connection.ts'

/**
 * The position up to which the log is complete: nothing at or below it can still appear. Rows up to
 * it must be read in a later statement (docs/protocol.md, L7).
 */
export const readHorizon = async (connection: Connection): Promise<number> => {
  const [row] = await connection.query<{ horizon: number }>('select stemma.horizon_v1() as horizon')
  return row!.horizon
}
