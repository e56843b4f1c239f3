import type { Pool } from '../../database/pool.ts'
import { runTransaction } from '../../database/run-transaction.ts'

/** Events whose rows are removed in one transaction, but for a session that has more. */
const chunkOfEvents = 2_000
const mostSessions = 100

/**
 * Removes the rows of all generations but the live one and, with `keep`, those that were live. A
 * session's rows go with its progress, in one transaction: to whoever still reads the generation, as
 * a build that knows no other does, all of them are there or none, and both are right. Gives whether
 * it came to an end.
 */
export const removeGenerations = async (
  pool: Pool,
  name: 'transcript',
  options: { readonly keep: boolean; readonly signal: AbortSignal },
): Promise<boolean> => {
  // Whoever writes looks at the state in the statement that it begins with.
  await pool.use((connection) =>
    connection.query(
      `update stemma.projection_generation g set state = 'leaving'
         where name = $1 and state in ('filling', 'whole') and not (state = 'whole' and $2)
           and version <> (select live_version from stemma.projection l where l.name = g.name)
           and not exists (select from stemma.rebuild r where r.name = g.name
             and r.version = g.version and r.phase not in ('removing', 'done'))`,
      [name, options.keep],
    ),
  )
  // Into one that was removed, a build that knows no other may have written since.
  const leaving = await pool.use((connection) =>
    connection.query<{ version: number }>(
      `select version from stemma.projection_generation
         where name = $1 and state in ('leaving', 'removed')`,
      [name],
    ),
  )
  for (const { version } of leaving) {
    for (let after: number | undefined = 0; after !== undefined;) {
      if (options.signal.aborted) return false
      after = await removeChunk(pool, version, after)
    }
    await pool.use((connection) =>
      connection.query(
        `update stemma.projection_generation set state = 'removed' where name = $1 and version = $2`,
        [name, version],
      ),
    )
  }
  return true
}

/** Gives the sid to go on behind; undefined at the end. */
const removeChunk = (pool: Pool, version: number, after: number): Promise<number | undefined> =>
  runTransaction(pool, {}, async (connection) => {
    const locked = await connection.query<{ sid: number; seq: number }>(
      `select sid, seq from stemma.transcript_progress where version = $1 and sid > $2
         order by sid limit $3 for update`,
      [version, after, mostSessions],
    )
    const sids: number[] = []
    let events = 0
    for (const { sid, seq } of locked) {
      if (sids.length > 0 && events + seq > chunkOfEvents) break
      sids.push(sid)
      events += seq
    }
    if (sids.length === 0) return undefined
    for (const table of tables) {
      await connection.query(
        `delete from stemma.${table} where version = $1 and sid = any ($2::text::bigint[])`,
        [version, `{${sids.join(',')}}`],
      )
    }
    return sids.at(-1)
  })

const tables = ['transcript_part', 'transcript_message', 'transcript_progress'] as const
