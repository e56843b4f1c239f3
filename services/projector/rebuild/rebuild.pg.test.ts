import t, { type Test } from 'tap'
import { endpointOf, openCutProxy } from '../../../test/harness/cut-proxy.ts'
import { openTestDatabase } from '../../../test/harness/database.ts'
import { rebuildReaches } from '../../../test/harness/rebuild-process.ts'
import {
  foldedTranscript,
  pagedTranscript,
  playSessions,
} from '../../../test/harness/transcripts.ts'
import { openPool, type Pool } from '../../database/pool.ts'
import type { Target } from '../../log/command.ts'
import { projectTranscript } from '../project-transcript.ts'
import { claimRange, releaseRanges } from './claim-range.ts'
import { makeLive } from './make-live.ts'
import { openRebuild } from './open-rebuild.ts'
import { discardRebuild, runRebuild, type RebuildOptions } from './run-rebuild.ts'
import { rebuildThroughOutages } from './through-outages.ts'
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

/** What is wrong with a live row, and how it is to be named. */
const faults = [
  {
    name: 'a message whose content is another',
    sql: `update stemma.transcript_message set data = '{"createdAt":"never"}'
      where version = 1 and sid = 2 and message_id = (select min(message_id)
        from stemma.transcript_message where version = 1 and sid = 2 and type = 'user')`,
    named: /^session ses_1, message msg_\d+: column data at \/\w+$/,
  },
  {
    name: 'a message at another place',
    sql: `update stemma.transcript_message set place = 100000
      where version = 1 and sid = 1 and place = (select max(place)
        from stemma.transcript_message where version = 1 and sid = 1)`,
    named: /^session ses_0, message msg_\d+: column place$/,
  },
  {
    name: 'a part that is not there',
    sql: `delete from stemma.transcript_part where ctid in (select ctid
      from stemma.transcript_part where version = 1 and sid = 3 limit 1)`,
    named:
      /^session ses_2, part msg_\d+\/\d\/\w+: is in the rebuilt rows and not in the live ones$/,
  },
  {
    name: 'a message that nobody wrote',
    sql: `insert into stemma.transcript_message
      values (1, 1, 'msg_no', null, 1, 1, 'user', '{"createdAt":"never"}')`,
    named: /^session ses_0, message msg_no: is in the live rows and not in the rebuilt ones$/,
  },
  {
    name: 'what the fold remembers',
    sql: `update stemma.transcript_progress set state = '{"turnId":"trn_no"}'
      where version = 1 and sid = 1`,
    named: /^session ses_0, progress: column state at \/\w+$/,
  },
]

t.test(
  'a row that is not what the fold gives is found and named, and the swap is not made',
  async (t) => {
    for (const fault of faults) {
      await using database = await openTestDatabase()
      const { pool } = database
      const targets = await playSessions(pool, { count: 3, turns: 5 })
      await projectAll(pool)
      await sql(pool, fault.sql)
      const told: string[] = []
      const result = await runRebuild(pool, {
        ...plain,
        verify: true,
        onDifference: (difference) => told.push(differenceText(difference)),
      })
      t.match(result, { outcome: 'differs', difference: fault.named }, fault.name)
      t.ok(told.length === 1 && fault.named.test(told[0]!), 'and it alone')
      t.match(await generations(pool), [{ live: true }, { live: false, state: 'filling' }])

      t.match(
        await runRebuild(pool, { ...plain, verify: true }),
        { outcome: 'differs', generation: 2 },
        'so it is again, while nothing is mended',
      )
      t.match(
        await runRebuild(pool, plain),
        { outcome: 'live', generation: 2 },
        'the rebuild mends',
      )
      await holdsPages(t, pool, targets)
    }
  },
)

t.test('rows are compared at one seq, whichever of the two is ahead', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await playSessions(pool, { count: 4, turns: 3 })
  // One is half projected, one stalled, one never; the last is ahead of what is rebuilt.
  await projectTranscript(pool, 1, { throughSeq: 5 })
  await sql(
    pool,
    `insert into stemma.event select sid, head + 1, tenant, 100000 + sid, 'evt_poison',
       'input.delivered', 1, 'null', '{}', now(), now() from stemma.session where sid = 2`,
  )
  await sql(pool, 'update stemma.session set head = head + 1 where sid = 2')
  t.match(await projectTranscript(pool, 2), { stalled: { code: 'TypeError' } })
  await projectTranscript(pool, 4)
  t.match(await runRebuild(pool, { ...plain, verify: true }), { outcome: 'live' })
})

t.test(
  'verifying only makes nothing live and leaves nothing behind, unless it is kept',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    await playSessions(pool, { count: 2, turns: 3 })
    await projectAll(pool)
    const only = { ...plain, verifyOnly: true }
    t.same(await runRebuild(pool, only), { generation: 2, outcome: 'checked' })
    t.match(await generations(pool), [
      { version: 1, live: true, state: 'whole', sessions: 2 },
      { version: 2, live: false, state: 'removed', sessions: 0, messages: false, parts: false },
    ])
    t.same(await runRebuild(pool, { ...only, keep: true }), { generation: 3, outcome: 'checked' })
    t.match(await generations(pool), [{ live: true }, {}, { state: 'filling', sessions: 2 }])
    t.same(await runRebuild(pool, { ...plain, keep: true }), { generation: 4, outcome: 'live' })
    t.match(
      await generations(pool),
      [{ state: 'whole', sessions: 2 }, {}, { state: 'removed' }, { live: true, sessions: 2 }],
      'what was live is kept, what was a copy only is not',
    )
  },
)

t.test('what an unfinished rebuild has written can be discarded', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await playSessions(pool, { count: 2, turns: 3 })
  await projectAll(pool)
  await sql(
    pool,
    `update stemma.transcript_progress set state = '{"turnId":"x"}' where version = 1`,
  )
  t.match(await runRebuild(pool, { ...plain, verify: true }), { outcome: 'differs' })
  t.equal(await discardRebuild(pool, plain.signal), true)
  t.match(await generations(pool), [{ live: true }, { state: 'removed', sessions: 0 }])
  t.equal(await discardRebuild(pool, plain.signal), false)
  t.match(await runRebuild(pool, plain), { generation: 3, outcome: 'live' })
})

t.test(
  'a build reads and writes generations of its own fold only, and is right without one',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const targets = await playSessions(pool, { count: 3, turns: 4 })
    await projectAll(pool)
    const foreign = async () =>
      sql(pool, `update stemma.transcript_message set type = 'system', data = '{"createdAt":"x"}'`)
    // As a build with another fold would have left it.
    await sql(pool, `update stemma.projection_generation set fold = 2 where version = 1`)
    await foreign()
    await holdsPages(t, pool, targets)
    t.match(
      await projectTranscript(pool, 1),
      { seq: 0, done: true },
      'there is nothing to write to',
    )
    await t.rejects(
      runRebuild(pool, plain),
      { code: 'rebuild_refused' },
      'nor does an older make live',
    )

    await sql(pool, `update stemma.projection_generation set fold = 0 where version = 1`)
    await t.rejects(runRebuild(pool, { ...plain, verify: true }), { code: 'rebuild_refused' })
    t.match(await runRebuild(pool, { ...plain, keep: true }), { outcome: 'live' })
    await holdsPages(t, pool, targets)
    // The other build has swapped back; ours goes on with the rows that are left to it.
    await sql(pool, `update stemma.projection set live_version = 1 where name = 'transcript'`)
    const [more] = await playSessions(pool, { count: 1, turns: 2, prefix: 'more' })
    await projectAll(pool)
    t.match(await generations(pool), [{ sessions: 3 }, { sessions: 4 }])
    await holdsPages(t, pool, [...targets, more!])
  },
)

t.test('sessions that the new generation lacks or has in part are read right', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  const targets = await playSessions(pool, { count: 3, turns: 4 })
  await runRebuild(pool, plain)
  for (const table of ['part', 'message', 'progress'])
    await sql(pool, `delete from stemma.transcript_${table} where sid = 1`)
  const late = await playSessions(pool, { count: 1, turns: 3, prefix: 'late' })
  await holdsPages(t, pool, [...targets, ...late])
  await projectAll(pool)
  await holdsPages(t, pool, [...targets, ...late])
  t.match(await generations(pool), [{ sessions: 0 }, { sessions: 4 }])
})

t.test('nothing that is to be compared is made live before all of it was', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await playSessions(pool, { count: 2, turns: 2 })
  await projectAll(pool)
  const rebuild = await openRebuild(pool, { verify: false })
  t.match(await openRebuild(pool, { verify: true }), { joined: true, verify: true })
  t.equal(await makeLive(pool, rebuild), 'unverified')
  await sql(pool, 'update stemma.rebuild set verify = false')
  const swaps = await Promise.all([1, 2, 3].map(() => makeLive(pool, rebuild)))
  t.same(swaps.toSorted(), ['live', 'live', 'swapped'], 'and then by one of those who would')
  t.match(await runRebuild(pool, plain), { outcome: 'live', generation: 2 }, 'which is then ended')
})

t.test(
  'who reads a generation that is being removed finds all rows of a session, or none',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    await playSessions(pool, { count: 30, turns: 3 })
    await projectAll(pool)
    const before = new Map(
      (await sql<{ sid: number; rows: number }>(pool, rowsSql)).map((row) => [row.sid, row.rows]),
    )
    let removed = false
    let looks = 0
    const reader = (async () => {
      for (; !removed; looks += 1) {
        for (const { sid, rows } of await sql<{ sid: number; rows: number }>(pool, rowsSql)) {
          if (rows !== before.get(sid)) t.fail(`${rows} rows of session ${sid}`)
        }
      }
    })()
    await runRebuild(pool, plain)
    removed = true
    await reader
    t.ok(looks > 0)
    const [left] = await sql(
      pool,
      'select count(*) as n from stemma.transcript_part where version = 1',
    )
    t.same(left, { n: 0 })
  },
)

const rowsSql = `select sid, count(*) as rows from (
    select sid from stemma.transcript_progress where version = 1
    union all select sid from stemma.transcript_message where version = 1
    union all select sid from stemma.transcript_part where version = 1) n
  group by sid`

t.test('what is appended while a rebuild runs is in it before it is live', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await playSessions(pool, { count: 2, turns: 2 })
  await openRebuild(pool, { verify: false })
  await playSessions(pool, { count: 2, turns: 2, prefix: 'late' })
  await runRebuild(pool, plain)
  const behind = `select count(*) as n from stemma.session s
    left join stemma.transcript_progress p on p.sid = s.sid and p.version = 2
    where p.seq is distinct from s.head`
  t.same(await sql(pool, behind), [{ n: 0 }])
})

t.test('where old rows are kept, the live ones are read and written', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  const targets = await playSessions(pool, { count: 2, turns: 3 })
  await projectAll(pool)
  await runRebuild(pool, { ...plain, keep: true })
  await sql(
    pool,
    `update stemma.transcript_message set data = '{"createdAt":"never"}' where version = 1`,
  )
  const late = await playSessions(pool, { count: 1, turns: 2, prefix: 'late' })
  await projectAll(pool)
  await holdsPages(t, pool, [...targets, ...late])
  t.match(await generations(pool), [
    { state: 'whole', sessions: 2 },
    { live: true, sessions: 3 },
  ])
})

t.test('a range is worked on by one, and taken over from one that has died', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await playSessions(pool, { count: 4, turns: 1 })
  const rebuild = await openRebuild(pool, { verify: false })
  const jobs = ['a', 'b'].map((worker) => ({ pool, rebuild, worker, signal: plain.signal }))
  const [a, b] = [jobs[0]!, jobs[1]!]
  const claimed = await Promise.all([a, b, a, b].map((job) => claimRange(job, 'filled')))
  t.equal(new Set(claimed.map((range) => range?.firstSid)).size, 4)

  await sql(
    pool,
    `update stemma.rebuild_range set claimed_at = now() - interval '1 minute' where first_sid = 3`,
  )
  t.same(await claimRange(b, 'filled'), { firstSid: 3, lastSid: 3 })
  const claims = `select count(*) as n from stemma.rebuild_range where claimed_by is not null`
  for (const job of jobs) await releaseRanges(job)
  t.same(await sql(pool, claims), [{ n: 0 }], 'and what is given back, by anybody')
  await sql(pool, 'update stemma.rebuild_range set filled = true')
  t.equal(await claimRange(a, 'filled'), undefined)
})

t.test('a rebuild goes on when its connections were cut', async (t) => {
  await using database = await openTestDatabase()
  const targets = await playSessions(database.pool, { count: 20, turns: 4 })
  await projectAll(database.pool)
  await using proxy = await openCutProxy({ to: endpointOf(database.url) })
  await using pool = openPool({
    url: proxy.url(database.url),
    max: 4,
    applicationName: 'stemma-cut',
  })
  const cutting = (async () => {
    for (const events of [1, 200, 600]) {
      await rebuildReaches(database.pool, (progress) => progress.events >= events)
      proxy.cutAll()
    }
  })()
  let opened = 0
  const onOpened = () => void (opened += 1)
  t.same(await rebuildThroughOutages(pool, { ...plain, verify: true, onOpened }), {
    generation: 2,
    outcome: 'live',
  })
  await cutting
  t.equal(opened, 1, 'it is the same one')
  await holdsPages(t, database.pool, targets)
})
