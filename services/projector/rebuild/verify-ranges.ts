import { claimRange, type Range } from './claim-range.ts'
import type { Difference } from './compare-rows.ts'
import type { RebuildJob } from './rebuild.ts'
import { verifySession } from './verify-session.ts'

/**
 * Compares the sessions of range after range, until no range is left or the job is stopped. Told of
 * each difference; the rebuild then says `differs` and cannot be made live.
 */
export const verifyRanges = async (
  job: RebuildJob,
  onDifference: (difference: Difference) => void,
): Promise<void> => {
  const { pool, rebuild, signal } = job
  const key = [rebuild.name, rebuild.generation]
  for (;;) {
    const range = await claimRange(job, 'verified')
    if (!range) return
    for (const session of await sessionsOf(job, range)) {
      const differences = await verifySession(job, session)
      if (differences[0]) await noteDifference(job, differences[0])
      for (const difference of differences) onDifference(difference)
      if (signal.aborted) return
      await pool.use((connection) => connection.query(countSql, [...key, range.firstSid]))
    }
    await pool.use((connection) =>
      connection.query(
        `update stemma.rebuild_range set verified = true, verified_sessions = sessions,
             claimed_by = null, claimed_at = null
           where name = $1 and version = $2 and first_sid = $3`,
        [...key, range.firstSid],
      ),
    )
  }
}

export const differenceText = ({ sessionId, row, what }: Difference): string =>
  `session ${sessionId}, ${row}: ${what}`

const sessionsOf = async (
  { pool, rebuild }: RebuildJob,
  { firstSid, lastSid }: Range,
): Promise<{ sid: number; sessionId: string }[]> =>
  pool.use(async (connection) => {
    await connection.query(
      `update stemma.rebuild_range set verified_sessions = 0
         where name = $1 and version = $2 and first_sid = $3`,
      [rebuild.name, rebuild.generation, firstSid],
    )
    return connection.query<{ sid: number; sessionId: string }>(
      `select sid, session_id as "sessionId" from stemma.session
         where sid between $1 and $2 order by sid`,
      [firstSid, lastSid],
    )
  })

const countSql = `update stemma.rebuild_range
  set verified_sessions = least(sessions, verified_sessions + 1),
    claimed_at = case when claimed_by is null then null else now() end
  where name = $1 and version = $2 and first_sid = $3`

const noteDifference = async (
  { pool, rebuild }: RebuildJob,
  difference: Difference,
): Promise<void> => {
  await pool.use((connection) =>
    connection.query(
      `update stemma.rebuild set phase = 'differs', difference = coalesce(difference, $3)
         where name = $1 and version = $2 and phase in ('filling', 'verifying', 'differs')`,
      [rebuild.name, rebuild.generation, differenceText(difference)],
    ),
  )
}
