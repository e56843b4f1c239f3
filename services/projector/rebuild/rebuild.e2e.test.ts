import t, { type Test } from 'tap'
import { startBusyStore } from '../../../test/harness/busy-store.ts'
import { openTestDatabase } from '../../../test/harness/database.ts'
import { rebuildReaches, startRebuild } from '../../../test/harness/rebuild-process.ts'
import {
  foldedTranscript,
  pagedTranscript,
  playSessions,
} from '../../../test/harness/transcripts.ts'
import type { Pool } from '../../database/pool.ts'
import type { Target } from '../../log/command.ts'
import { readRebuild } from './read-rebuild.ts'

const holdsPages = async (t: Test, pool: Pool, targets: readonly Target[]): Promise<void> => {
  for (const target of targets) {
    const { messages, asOfSeq } = await pagedTranscript(pool, target)
    t.same(messages, await foldedTranscript(pool, target, asOfSeq), target.sessionId)
  }
}

const live = async (pool: Pool): Promise<unknown> => {
  const [row] = await pool.use((connection) =>
    connection.query(
      `select live_version as live, (select max(version) from stemma.projection_generation
           where name = 'transcript') as newest
         from stemma.projection where name = 'transcript'`,
    ),
  )
  return row
}

const eventsInLog = async (pool: Pool): Promise<number> => {
  const [row] = await pool.use((connection) =>
    connection.query<{ n: number }>('select count(*) as n from stemma.event'),
  )
  return row!.n
}

t.test(
  'killed in the middle while servers write and read, and run again: no difference, and no page was ever wrong',
  async (t) => {
    await using database = await openTestDatabase({ max: 12 })
    const { pool, url } = database
    const busy = startBusyStore(pool, await playSessions(pool, { count: 60, turns: 4 }))
    const environment = { DATABASE_URL: url }
    const first = startRebuild(environment, '--verify')
    const killedAt = await rebuildReaches(pool, ({ filledSessions }) => filledSessions >= 15)
    first.kill('SIGKILL')
    t.equal((await first.ended).how, 'SIGKILL')
    t.match(killedAt, { phase: 'filling' })
    t.ok(killedAt.filledSessions < killedAt.sessions, 'in the middle')

    const second = await startRebuild(environment, '--verify').ended
    const { appended, reads } = await busy.stop()
    t.same([second.how, second.stderr], [0, ''])
    t.same(second.lines.at(-1), { generation: 2, outcome: 'live' })
    t.same(await live(pool), { live: 2, newest: 2 })
    t.same(busy.wrong, [], `no page of ${reads}, while ${appended} events were appended`)
    const progress = await readRebuild(pool, 'transcript')
    t.match(progress, { phase: 'done', outcome: 'live', difference: null })
    t.equal(progress?.verifiedSessions, progress?.sessions)
    t.ok(progress!.events <= (await eventsInLog(pool)), 'no event was folded twice')
    await holdsPages(t, pool, busy.targets)
  },
)

t.test('two jobs side by side share the sessions, both end, and one of them swaps', async (t) => {
  await using database = await openTestDatabase()
  const { pool, url } = database
  const targets = await playSessions(pool, { count: 80, turns: 4 })
  const jobs = [1, 2].map(() => startRebuild({ DATABASE_URL: url }, '--verify'))
  const workers = new Set<string>()
  let ended = false
  const watching = (async () => {
    while (!ended) {
      for (const { run } of await pool.use((connection) =>
        connection.query<{ run: string }>(
          `select distinct split_part(claimed_by, '/', 1) as run from stemma.rebuild_range
             where claimed_by is not null`,
          [],
        ),
      ))
        workers.add(run)
    }
  })()
  const ends = await Promise.all(jobs.map((job) => job.ended))
  ended = true
  await watching
  t.equal(workers.size, 2, 'both have claimed sessions')
  for (const { how, lines } of ends) {
    t.equal(how, 0)
    t.same(lines.at(-1), { generation: 2, outcome: 'live' })
  }
  t.same(await live(pool), { live: 2, newest: 2 })
  t.equal((await readRebuild(pool, 'transcript'))?.events, await eventsInLog(pool))
  await holdsPages(t, pool, targets)
})

t.test('Ctrl-C stops a rebuild, and the same command goes on where it was', async (t) => {
  await using database = await openTestDatabase()
  const { pool, url } = database
  const targets = await playSessions(pool, { count: 80, turns: 4 })
  const first = startRebuild({ DATABASE_URL: url })
  await rebuildReaches(pool, ({ filledSessions }) => filledSessions >= 5)
  first.kill('SIGINT')
  const stopped = await first.ended
  t.equal(stopped.how, 130)
  t.same(stopped.lines.at(-1), { generation: 2, outcome: 'stopped' })
  t.same(await live(pool), { live: 1, newest: 2 })
  const between = (await readRebuild(pool, 'transcript'))!
  t.match(between, { phase: 'filling', endedAt: null })
  t.same(
    await pool.use((connection) =>
      connection.query('select first_sid from stemma.rebuild_range where claimed_by is not null'),
    ),
    [],
    'no range waits for it',
  )

  const second = await startRebuild({ DATABASE_URL: url }).ended
  t.equal(second.how, 0)
  t.match(second.lines[0], { generation: 2 })
  t.ok((second.lines[0] as { events: number }).events >= between.events, 'it does not begin again')
  t.equal((await readRebuild(pool, 'transcript'))?.events, await eventsInLog(pool))
  await holdsPages(t, pool, targets)
})
