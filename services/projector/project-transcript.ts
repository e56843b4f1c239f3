import { transcriptFold } from '../../projections/transcript/rows.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { chunkEvents, foldTail } from '../reads/fold-tail.ts'
import { transcriptGeneration } from '../reads/generation.ts'
import {
  progressRow,
  readProgress,
  type ProgressRow,
  type StoredProgress,
} from '../reads/transcript-rows.ts'
import { writeTranscript } from './write-transcript.ts'

/** What a fold that failed is tried again after. */
export const build = `transcript ${transcriptFold}`

export type Projected = {
  readonly seq: number
  /** Nothing more to write, for now. */
  readonly done: boolean
  readonly stalled?: { readonly seq: number; readonly code: string }
}

export type Projecting = {
  /** The generation to write into; else the one that this build reads. */
  readonly generation?: number
  /** Where to stop, if the log goes on. */
  readonly throughSeq?: number
  /** Runs in the transaction that writes the chunk. */
  readonly alongside?: (
    connection: Connection,
    chunk: Projected & { readonly events: number },
  ) => Promise<void>
}

/** Tries that came to no end, as when a fold takes its process down, before a session is left alone. */
const mostTries = 20

/**
 * Writes one chunk of a session's transcript: at most `chunkEvents` events, in one transaction with
 * the progress row, whose seq is compared and set. Who loses the compare has nothing to do: another
 * server wrote the same rows. A session whose fold failed is left alone until the build changes; a
 * try is counted before it is made, so that one which ends the process counts too. Nothing is
 * written into a generation that is being removed.
 */
export const projectTranscript = async (
  pool: Pool,
  sid: number,
  projecting: Projecting = {},
): Promise<Projected> => {
  const tried = await pool.use((connection) => countTry(connection, sid, projecting.generation))
  if (tried.leave) return leftAlone(tried.kept)
  const { generation } = tried
  return runTransaction(pool, {}, async (connection) => {
    const [mine] = await connection.query<StoredProgress & { head: number }>(lockSql, [
      generation,
      sid,
    ])
    if (!mine) return leftAlone(await readProgress(connection, sid, generation))
    const kept = progressRow(mine)
    const head = Math.min(mine.head, projecting.throughSeq ?? Infinity)
    const tail = await foldTail(connection, sid, kept, Math.min(head, kept.seq + chunkEvents))
    await writeTranscript(connection, { generation, sid }, tail.view)
    const written = await connection.query(
      `update stemma.transcript_progress
         set seq = $3, state = $4::text::json, stalled_seq = $5, stalled_code = $6,
           tries = case when $5::bigint is null then 0 else tries end
         where version = $1 and sid = $2 and seq = $7 returning seq`,
      [
        generation,
        sid,
        tail.seq,
        JSON.stringify(tail.view.progress),
        tail.stalled?.seq ?? null,
        tail.stalled?.code ?? null,
        kept.seq,
      ],
    )
    if (written.length === 0) throw new Error('the progress row moved under its lock')
    const projected: Projected = {
      seq: tail.seq,
      done: tail.stalled !== undefined || tail.seq >= head,
      ...(tail.stalled && { stalled: tail.stalled }),
    }
    await projecting.alongside?.(connection, { ...projected, events: tail.events })
    return projected
  })
}

// What is lost with the database's last moments is computed again: a commit need not wait for the disk.
const unhurried = `set_config('synchronous_commit', 'off', true)`

const lockSql = `select p.version as generation, p.seq, p.state::text as state, p.stalled_seq,
    p.stalled_code, coalesce(s.head, 0) as head, ${unhurried}
  from stemma.transcript_progress p left join stemma.session s on s.sid = p.sid
  where p.version = $1 and p.sid = $2 for update of p skip locked`

const leftAlone = ({ seq, stalled }: ProgressRow): Projected => ({
  seq,
  done: true,
  ...(stalled && { stalled }),
})

type Tried =
  | { readonly leave: false; readonly generation: number }
  | { readonly leave: true; readonly kept: ProgressRow }

/** Counts a try of this build, and says where it is to be made, or that the session is left alone. */
const countTry = async (
  connection: Connection,
  sid: number,
  generation: number | undefined,
): Promise<Tried> => {
  const [counted] = await connection.query<{ version: number; seq: number; tries: number }>(
    generation === undefined ? countOwnSql : countSql,
    [sid, build, ...(generation === undefined ? [] : [generation])],
  )
  if (counted && counted.tries <= mostTries) return { leave: false, generation: counted.version }
  if (counted) {
    await connection.query(
      `update stemma.transcript_progress set stalled_seq = seq + 1, stalled_code = 'crashed'
         where version = $1 and sid = $2 and seq = $3`,
      [counted.version, sid, counted.seq],
    )
  }
  return { leave: true, kept: await readProgress(connection, sid, counted?.version ?? generation) }
}

const countInto = (generation: string): string =>
  `insert into stemma.transcript_progress as p (version, sid, seq, state, tries, tried_build)
     select g.version, $1::bigint, 0, '{}'::json, 1, $2::text from stemma.projection_generation g
       where g.name = 'transcript' and g.version = ${generation}
         and g.state in ('filling', 'whole')
   on conflict (version, sid) do update
     set tries = case when p.tried_build = $2 then p.tries + 1 else 1 end, tried_build = $2,
       stalled_seq = null, stalled_code = null
     where p.stalled_seq is null or p.tried_build is distinct from $2
   returning version, seq, tries, ${unhurried}`
const countOwnSql = countInto(transcriptGeneration)
const countSql = countInto('$3::int')
