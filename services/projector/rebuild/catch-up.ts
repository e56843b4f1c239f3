import { chunkEvents } from '../../reads/fold-tail.ts'
import { projectTranscript } from '../project-transcript.ts'
import type { RebuildJob } from './rebuild.ts'

/** A tail that reads fold without noticing. */
const shortTail = 100
/** Whoever appends faster than this folds would do so for ever: reads are right all the same. */
const mostRounds = 20
const batch = 500

/**
 * Folds what was appended since a session was filled, and sessions that are new, round after round,
 * until no session is behind by more than a short tail.
 */
export const catchUp = async (job: RebuildJob): Promise<void> => {
  for (let round = 0; round < mostRounds; round += 1) {
    let furthest = 0
    for (let after = 0; ;) {
      const behind = await readBehind(job, after)
      for (const { sid, events } of behind) {
        if (job.signal.aborted) return
        furthest = Math.max(furthest, events)
        await foldOn(job, sid)
      }
      if (behind.length < batch) break
      after = behind.at(-1)!.sid
    }
    if (furthest <= shortTail) return
  }
}

const readBehind = (
  { pool, rebuild }: RebuildJob,
  after: number,
): Promise<{ sid: number; events: number }[]> =>
  pool.use((connection) =>
    connection.query<{ sid: number; events: number }>(
      `select s.sid, s.head - coalesce(p.seq, 0) as events from stemma.session s
         left join stemma.transcript_progress p on p.version = $1 and p.sid = s.sid
         where s.sid > $2 and s.head > coalesce(p.seq, 0) and p.stalled_seq is null
         order by s.sid limit $3`,
      [rebuild.generation, after, batch],
    ),
  )

const foldOn = async ({ pool, rebuild, signal }: RebuildJob, sid: number): Promise<void> => {
  const { name, generation } = rebuild
  for (let chunk = chunkEvents; chunk === chunkEvents && !signal.aborted;) {
    chunk = 0
    await projectTranscript(pool, sid, {
      generation,
      alongside: async (connection, { events }) => {
        chunk = events
        await connection.query(
          `update stemma.rebuild set caught_up = caught_up + $3 where name = $1 and version = $2`,
          [name, generation, events],
        )
      },
    })
  }
}
