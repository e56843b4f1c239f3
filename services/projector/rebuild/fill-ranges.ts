import type { Connection } from '../../database/connection.ts'
import { projectTranscript } from '../project-transcript.ts'
import { claimRange, type Range } from './claim-range.ts'
import type { RebuildJob } from './rebuild.ts'

/**
 * Folds the sessions of range after range into the new generation, each to its head, in chunks of
 * one transaction, until no range is left or the job is stopped. What a chunk did is counted in its
 * own transaction, so that whoever goes on after a kill begins where it ended.
 */
export const fillRanges = async (job: RebuildJob): Promise<void> => {
  for (;;) {
    const range = await claimRange(job, 'filled')
    if (!range) return
    for (const sid of await unfilled(job, range)) {
      await fillSession(job, range, sid)
      if (job.signal.aborted) return
    }
    await job.pool.use((connection) =>
      connection.query(
        `update stemma.rebuild_range set filled = true, filled_sessions = sessions,
             claimed_by = null, claimed_at = null
           where name = $1 and version = $2 and first_sid = $3`,
        [job.rebuild.name, job.rebuild.generation, range.firstSid],
      ),
    )
  }
}

/** The sessions of the range that are not folded to their heads; the others are counted as done. */
const unfilled = async (
  { pool, rebuild }: RebuildJob,
  { firstSid, lastSid }: Range,
): Promise<number[]> => {
  const rows = await pool.use((connection) =>
    connection.query<{ sid: number }>(
      `with behind as (select s.sid from stemma.session s
           left join stemma.transcript_progress p on p.version = $2 and p.sid = s.sid
           where s.sid between $3 and $4 and p.stalled_seq is null
             and s.head > coalesce(p.seq, 0)),
         counted as (update stemma.rebuild_range
           set filled_sessions = greatest(0, sessions - (select count(*) from behind))
           where name = $1 and version = $2 and first_sid = $3)
       select sid from behind order by sid`,
      [rebuild.name, rebuild.generation, firstSid, lastSid],
    ),
  )
  return rows.map(({ sid }) => sid)
}

const fillSession = async (job: RebuildJob, range: Range, sid: number): Promise<void> => {
  const { pool, rebuild, signal } = job
  const count = async (
    connection: Connection,
    chunk: { readonly events: number; readonly done: boolean },
  ): Promise<void> => {
    await connection.query(countSql, [
      rebuild.name,
      rebuild.generation,
      range.firstSid,
      chunk.events,
      chunk.done ? 1 : 0,
    ])
  }
  for (let done = false; !done && !signal.aborted;) {
    const projecting = { generation: rebuild.generation, alongside: count }
    done = (await projectTranscript(pool, sid, projecting)).done
  }
}

const countSql = `update stemma.rebuild_range
  set events = events + $4, filled_sessions = least(sessions, filled_sessions + $5),
    claimed_at = case when claimed_by is null then null else now() end
  where name = $1 and version = $2 and first_sid = $3`
