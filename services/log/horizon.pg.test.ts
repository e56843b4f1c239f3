import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import type { Pool } from '../database/pool.ts'
import { readAll } from './read-all.ts'

type Seen = {
  readonly ids: Set<string>
  doubled: number
  inverted: number
  heads: Map<number, number>
}

const watch = (): Seen => ({ ids: new Set(), doubled: 0, inverted: 0, heads: new Map() })

const see = (
  seen: Seen,
  events: readonly { sid: number; seq: number; eventId: string }[],
): void => {
  for (const { sid, seq, eventId } of events) {
    if (seen.ids.has(eventId)) seen.doubled += 1
    seen.ids.add(eventId)
    if (seq <= (seen.heads.get(sid) ?? 0)) seen.inverted += 1
    seen.heads.set(sid, seq)
  }
}

/** The reader that nearly every store has shipped: it goes on above the last position it saw. */
const readUnsafely = (pool: Pool, afterPosition: number) =>
  pool.use((connection) =>
    connection.query<{ sid: number; seq: number; eventId: string; position: number }>(
      `select sid, seq, event_id as "eventId", position from stemma.event
         where position > $1 order by position limit 500`,
      [afterPosition],
    ),
  )

t.test(
  'L7: readers of all events lose none while writers commit late, roll back and are killed; an unsafe reader does',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool, url } = database
    const script = fileURLToPath(new URL('../../test/harness/torture-writer.ts', import.meta.url))
    const start = (round: number) =>
      spawn(process.execPath, [script, url, '8', `ses_${round}`], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })

    const safe = watch()
    const unsafe = watch()
    let running = true
    const follow = async (): Promise<void> => {
      let position = 0
      for (let last = false; !last;) {
        last = !running
        const page = await readAll(pool, { afterPosition: position, limit: 500 })
        see(safe, page.events)
        position = page.position
        if (page.atEnd) await sleep(1)
        else last = false
      }
    }
    const followUnsafely = async (): Promise<void> => {
      let position = 0
      for (let last = false; !last;) {
        last = !running
        const rows = await readUnsafely(pool, position)
        see(unsafe, rows)
        position = rows.at(-1)?.position ?? position
        if (rows.length > 0) last = false
        else await sleep(1)
      }
    }
    const readers = [follow(), followUnsafely()]

    for (let round = 0; round < 3; round += 1) {
      const writers = [start(round * 2), start(round * 2 + 1)]
      await sleep(1_000)
      // A slow machine takes long to start them: killed only once they have written.
      for (const wanted = (round + 1) * 120, ends = Date.now() + 30_000; Date.now() < ends;) {
        if (safe.ids.size > wanted) break
        await sleep(50)
      }
      for (const writer of writers) writer.kill('SIGKILL')
      await Promise.all(
        writers.map((writer) => new Promise((resolve) => writer.once('exit', resolve))),
      )
    }
    // The dead writers' transactions end when the server notices; the horizon waits for them.
    await sleep(500)
    running = false
    await Promise.all(readers)

    const stored = await pool.use((c) =>
      c.query<{ event_id: string }>('select event_id from stemma.event'),
    )
    const lost = (seen: Seen) => stored.filter(({ event_id: id }) => !seen.ids.has(id)).length
    t.ok(stored.length > 300, `${stored.length} events were committed`)
    t.equal(lost(safe), 0, 'none is lost')
    t.equal(safe.doubled, 0, 'none comes twice')
    t.equal(safe.inverted, 0, 'each session comes in order of seq')
    t.ok(lost(unsafe) > 0, `the unsafe reader lost ${lost(unsafe)} of ${stored.length}`)
  },
)

t.test(
  'L7: positions of one append are in order of seq, and a page ends where the next begins',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const { openLog } = await import('./open-log.ts')
    const { event } = await import('../../test/harness/rehearsal.ts')
    const log = openLog({ pool, report: () => {} })
    for (const sessionId of ['ses_1', 'ses_2']) {
      await log.execute({
        tenant: 1,
        sessionId,
        kind: 'create',
        event: event('session.created', {}),
      })
      const events = Array.from({ length: 20 }, (_, n) =>
        event('session.renamed', { title: `${n}` }),
      )
      await log.execute({ tenant: 1, sessionId, kind: 'append', events })
    }
    const seen = watch()
    const positions: number[] = []
    let position = 0
    for (let atEnd = false; !atEnd;) {
      const page = await readAll(pool, { tenant: 1, afterPosition: position, limit: 7 })
      see(seen, page.events)
      positions.push(...page.events.map((e) => e.position))
      position = page.position
      atEnd = page.atEnd
    }
    t.equal(seen.ids.size, 42)
    t.equal(seen.inverted + seen.doubled, 0)
    t.same(
      positions,
      positions.toSorted((a, b) => a - b),
    )
    const renamed = await readAll(pool, {
      tenant: 1,
      afterPosition: 0,
      limit: 100,
      types: ['session.created'],
    })
    t.equal(renamed.events.length, 2)
    t.equal(
      (await readAll(pool, { tenant: 2, afterPosition: 0, limit: 100 })).events.length,
      0,
      'of no other tenant',
    )
    await log[Symbol.asyncDispose]()
  },
)
