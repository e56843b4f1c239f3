import { transcriptVersion } from '../../projections/transcript/rows.ts'
import type { Connection } from '../database/connection.ts'
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

/** Tries that came to no end, as when a fold takes its process down, before a session is left alone. */
const mostTries = 20

/**
 * Writes one chunk of a session's transcript: at most `chunkEvents` events, in one transaction with
 * the progress row, whose seq is compared and set. Who loses the compare has nothing to do: another
 * server wrote the same rows. A session whose fold failed is left alone until the build changes; a
 * try is counted before it is made, so that one which ends the process counts too.
 */
export const projectTranscript = async (pool: Pool, sid: number): Promise<Projected> => {
  const stalled = await pool.use((connection) => countTry(connection, sid))
  if (stalled) return stalled
  return runTransaction(pool, {}, async (connection) => {
    const [mine] = await connection.query(
      `select seq from stemma.transcript_progress
         where version = $1 and sid = $2 for update skip locked`,
      [transcriptVersion, sid],
    )
    const kept = await readProgress(connection, sid)
    if (!mine) return { seq: kept.seq, done: true }
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
           tries = case when $5::bigint is null then 0 else tries end
         where version = $1 and sid = $2 and seq = $7 returning seq`,
      [
        transcriptVersion,
        sid,
        tail.seq,
        JSON.stringify(tail.view.progress),
        tail.stalled?.seq ?? null,
        tail.stalled?.code ?? null,
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
}

/** Counts a try of this build. Gives where the session is stalled, if it is not to be tried. */
const countTry = async (connection: Connection, sid: number): Promise<Projected | undefined> => {
  const [counted] = await connection.query<{ seq: number; tries: number }>(
    `insert into stemma.transcript_progress as p (version, sid, seq, state, tries, tried_build)
       values ($1, $2, 0, '{}', 1, $3)
     on conflict (version, sid) do update
       set tries = case when p.tried_build = $3 then p.tries + 1 else 1 end, tried_build = $3,
         stalled_seq = null, stalled_code = null
       where p.stalled_seq is null or p.tried_build is distinct from $3
     returning seq, tries`,
    [transcriptVersion, sid, build],
  )
  if (counted && counted.tries <= mostTries) return undefined
  if (counted) {
    await connection.query(
      `update stemma.transcript_progress set stalled_seq = seq + 1, stalled_code = 'crashed'
         where version = $1 and sid = $2 and seq = $3`,
      [transcriptVersion, sid, counted.seq],
    )
  }
  const kept = await readProgress(connection, sid)
  return { seq: kept.seq, done: true, ...(kept.stalled && { stalled: kept.stalled }) }
}
