import { projectTranscript } from '../../services/projector/project-transcript.ts'
import { openPool, type Pool } from '../../services/database/pool.ts'
import { readSession } from '../../services/log/load-session.ts'
import { readMessages } from '../../services/reads/read-messages.ts'
import type { Bench, Contender } from '../bench.ts'
import { buildSession } from '../chapters.ts'
import { openStemma } from '../contenders/stemma.ts'
import { timed } from '../timed.ts'

const limit = 50

/** The newest page of a long session and of a short one: as many rows of the same kinds. */
export const transcriptPageRow: Bench = {
  name: 'page',
  about: 'transcript page of 50, of a session of 100,000 events (--long-session) and of 100',
  open: async (world) => {
    const url = await world.database('migrated')
    const pool = openPool({ url, max: 4, applicationName: 'stemma-bench' })
    {
      await using stemma = await openStemma(url)
      await buildSession(stemma.log, 'short', 100)
      await buildSession(stemma.log, 'long', world.options.longSession)
    }
    for (const sessionId of ['short', 'long']) await project(pool, sessionId)
    // As the server would by itself within minutes.
    await pool.use((connection) => connection.query('vacuum analyze'))
    return {
      contenders: [pageOf(pool, 'short'), pageOf(pool, 'long')],
      claims: [{ ours: 'long', against: 'short', must: 1 / 1.5 }],
      [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
    }
  },
}

const pageOf = (pool: Pool, sessionId: string): Contender => ({
  name: sessionId,
  round: (milliseconds) =>
    timed(1, milliseconds, () => async () => {
      const page = await readMessages(pool, { tenant: 1, sessionId }, { limit, order: 'desc' })
      if (page.data.length !== limit) throw new Error(`a page of ${page.data.length}`)
      return 1
    }),
})

const project = async (pool: Pool, sessionId: string): Promise<void> => {
  const session = await pool.use((c) => readSession(c, { tenant: 1, sessionId }))
  for (let done = false; !done;) {
    const projected = await projectTranscript(pool, session!.sid)
    if (projected.stalled) throw new Error(`stalled: ${projected.stalled.code}`)
    done = projected.done
  }
}
