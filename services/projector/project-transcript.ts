import { transcriptVersion } from '../../projections/transcript/rows.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { chunkEvents, foldTail } from '../reads/fold-tail.ts'
import { readProgress } from '../reads/transcript-rows.ts'
import { writeTranscript } from './write-transcript.ts'

/** What a fold that failed is tried again after. */
export const build = `transcript ${transcriptVersion}`

export type Projected = {
  readonly seq: number
  /** Nothing more to write, for now. */
  readonly done: boolean
  readonly stalled?: { readonly seq: number; readonly code: string }
}

/**
 * Writes one chunk of a session's transcript: at most `chunkEvents` events, in one transaction with
 * the progress row, whose seq is compared and set. Who loses the compare has nothing to do: another
 * server wrote the same rows. A session whose fold failed is left alone until the build changes.
 */
export const projectTranscript = async (pool: Pool, sid: number): Promise<Projected> =>
  runTransaction(pool, {}, async (connection) => {
    await connection.query(
      `insert into stemma.transcript_progress (version, sid, seq, state) values ($1, $2, 0, '{}')
         on conflict do nothing`,
      [transcriptVersion, sid],
    )
    const [mine] = await connection.query<{
      stalled_seq: number | null
      tried_build: string | null
    }>(
      `select stalled_seq, tried_build from stemma.transcript_progress
         where version = $1 and sid = $2 for update skip locked`,
      [transcriptVersion, sid],
    )
    const kept = await readProgress(connection, sid)
    if (!mine) return { seq: kept.seq, done: true }
    if (kept.stalled && mine.tried_build === build) {
      return { seq: kept.seq, done: true, stalled: kept.stalled }
    }
    const [session] = await connection.query<{ head: number }>(
      'select head from stemma.session where sid = $1',
      [sid],
    )
    const head = session?.head ?? 0
    const through = Math.min(head, kept.seq + chunkEvents)
    const tail = await foldTail(connection, sid, kept, through)
    await writeTranscript(connection, sid, tail.view)
    const written = await connection.query(
      `update stemma.transcript_progress
         set seq = $3, state = $4::text::json, stalled_seq = $5, stalled_code = $6,
           tries = case when $5::bigint is null then 0 else tries + 1 end, tried_build = $7
         where version = $1 and sid = $2 and seq = $8 returning seq`,
      [
        transcriptVersion,
        sid,
        tail.seq,
        JSON.stringify(tail.view.progress),
        tail.stalled?.seq ?? null,
        tail.stalled?.code ?? null,
        build,
        kept.seq,
      ],
    )
    if (written.length === 0) throw new Error('the progress row moved under its lock')
    return {
      seq: tail.seq,
      done: tail.stalled !== undefined || tail.seq >= head,
      ...(tail.stalled && { stalled: tail.stalled }),
    }
  })
