import { openPool, type Pool } from '../../services/database/pool.ts'
import { createLane } from '../../services/lane.ts'
import { readEvents } from '../../services/log/read-events.ts'
import { projectTranscript } from '../../services/projector/project-transcript.ts'
import { removeGenerations } from '../../services/projector/rebuild/remove-generations.ts'
import { runRebuild } from '../../services/projector/rebuild/run-rebuild.ts'
import { chunkEvents } from '../../services/reads/fold-tail.ts'
import type { Bench, Contender } from '../bench.ts'
import { buildSession } from '../chapters.ts'
import { openStemma } from '../contenders/stemma.ts'

const sessions = 20
const eventsOfEach = 1_000
/** As many as `stemma rebuild` takes by itself, and as many connections. */
const workers = 4

/** All the log, folded into rows of a new generation or only read; a round is the whole of it. */
export const rebuildRow: Bench = {
  name: 'rebuild',
  about: `events of ${sessions} sessions of ${eventsOfEach}, ${workers} at once`,
  open: async (world) => {
    const url = await world.database('migrated')
    const pool = openPool({ url, max: workers + 2, applicationName: 'stemma-bench' })
    {
      await using stemma = await openStemma(url)
      for (let n = 0; n < sessions; n += 1) {
        await buildSession(stemma.log, `ses_${n}`, eventsOfEach)
      }
    }
    const rows = await pool.use((connection) =>
      connection.query<{ sid: number; head: number }>('select sid, head from stemma.session'),
    )
    for (const { sid } of rows) while (!(await projectTranscript(pool, sid)).done);
    await pool.use((connection) => connection.query('vacuum analyze'))
    const events = rows.reduce((sum, { head }) => sum + head, 0)
    const sids = rows.map(({ sid }) => sid)
    return {
      contenders: [reading(pool, sids, events), rebuilding(pool, events)],
      claims: [
        { ours: 'rebuild until live', against: 'read', must: 0.5 },
        { ours: 'rebuild and removal', against: 'read' },
      ],
      [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
    }
  },
}

/** In pages of as many events as a rebuild folds at once, and nothing made of them. */
const reading = (pool: Pool, sids: readonly number[], events: number): Contender => ({
  name: 'read',
  round: async () => {
    const lane = createLane(workers)
    const begins = performance.now()
    const counts = await Promise.all(sids.map((sid) => lane(() => readSession(pool, sid))))
    const count = counts.reduce((sum, n) => sum + n, 0)
    if (count !== events) throw new Error(`${count} events instead of ${events}`)
    return rateOf(events, begins)
  },
})

const readSession = async (pool: Pool, sid: number): Promise<number> => {
  let afterSeq = 0
  for (;;) {
    const page = await pool.use((c) => readEvents(c, sid, { afterSeq, limit: chunkEvents }))
    afterSeq = page.at(-1)?.seq ?? afterSeq
    if (page.length < chunkEvents) return afterSeq
  }
}

/** What was live before is removed behind it, as the command does; that is counted apart. */
const rebuilding = (pool: Pool, events: number): Contender => ({
  name: 'rebuild',
  round: async () => {
    const { signal } = new AbortController()
    const options = { verify: false, verifyOnly: false, workers, signal }
    const begins = performance.now()
    const { outcome } = await runRebuild(pool, { ...options, keep: true })
    if (outcome !== 'live') throw new Error(`the rebuild ended as ${outcome}`)
    const untilLive = rateOf(events, begins)
    await removeGenerations(pool, 'transcript', { keep: false, signal })
    return { 'until live': untilLive, 'and removal': rateOf(events, begins) }
  },
})

const rateOf = (events: number, begins: number): number =>
  events / ((performance.now() - begins) / 1000)
