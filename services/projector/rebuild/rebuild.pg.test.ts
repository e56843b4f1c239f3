import t, { type Test } from 'tap'
import { openTestDatabase } from '../../../test/harness/database.ts'
import {
  foldedTranscript,
  pagedTranscript,
  playSessions,
} from '../../../test/harness/transcripts.ts'
import type { Pool } from '../../database/pool.ts'
import type { Target } from '../../log/command.ts'
import { projectTranscript } from '../project-transcript.ts'
import { discardRebuild, runRebuild, type RebuildOptions } from './run-rebuild.ts'
import { differenceText } from './verify-ranges.ts'

const plain: RebuildOptions = {
  verify: false,
  verifyOnly: false,
  keep: false,
  workers: 2,
  signal: new AbortController().signal,
}

const sql = <R extends Record<string, unknown>>(pool: Pool, text: string): Promise<R[]> =>
  pool.use((connection) => connection.query<R>(text, []))

const generations = (pool: Pool): Promise<Record<string, unknown>[]> =>
  sql(
    pool,
    `select g.version, g.state, l.live_version = g.version as live,
       (select count(*) from stemma.transcript_progress p where p.version = g.version) as sessions,
       (select count(*) from stemma.transcript_message m where m.version = g.version) > 0 as messages,
       (select count(*) from stemma.transcript_part p where p.version = g.version) > 0 as parts
       from stemma.projection_generation g join stemma.projection l using (name)
       where name = 'transcript' order by 1`,
  )

const projectAll = async (pool: Pool): Promise<void> => {
  for (const { sid } of await sql<{ sid: number }>(pool, 'select sid from stemma.session')) {
    while (!(await projectTranscript(pool, sid)).done);
  }
}

const holdsPages = async (t: Test, pool: Pool, targets: readonly Target[]): Promise<void> => {
  for (const target of targets) {
    const { messages, asOfSeq } = await pagedTranscript(pool, target)
    t.same(messages, await foldedTranscript(pool, target, asOfSeq), target.sessionId)
  }
}

t.test(
  'a rebuilt generation is live, says what the log says, and the old one is gone',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const targets = await playSessions(pool, { count: 5, turns: 4 })
    await projectAll(pool)
    t.same(await runRebuild(pool, { ...plain, verify: true }), { generation: 2, outcome: 'live' })
    t.same(await generations(pool), [
      { version: 1, state: 'removed', live: false, sessions: 0, messages: false, parts: false },
      { version: 2, state: 'whole', live: true, sessions: 5, messages: true, parts: true },
    ])
    await holdsPages(t, pool, targets)
  },
)
