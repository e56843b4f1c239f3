import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Refusal } from '../schema/errors.ts'
import { startEmbedded } from '../services/database/embedded/start-embedded.ts'
import { migrate } from '../services/database/migrate.ts'
import { openPool } from '../services/database/pool.ts'
import { newId } from '../services/log/new-id.ts'
import { openLog } from '../services/log/open-log.ts'
import { startProjector } from '../services/projector/start-projector.ts'
import { listSessions } from '../services/reads/list-sessions.ts'
import { readMessages } from '../services/reads/read-messages.ts'
import { openDataDir } from './harness/data-dir.ts'
import { event } from './harness/rehearsal.ts'

const uncaught: unknown[] = []
process.on('uncaughtException', (error) => uncaught.push(error))
process.on('unhandledRejection', (error) => uncaught.push(error))

t.test(
  'PostgreSQL is restarted under load, fast and after a crash: nothing acknowledged is lost, nothing doubled, and the service goes on by itself',
  async (t) => {
    using folder = openDataDir()
    const start = () => startEmbedded({ dataDir: folder.path, log: () => {} })
    let server = await start()
    const pool = openPool({ url: server.url, max: 8, applicationName: 'restarted' })
    await migrate(pool)
    const log = openLog({ pool, report: () => {} })
    const projector = startProjector({ pool, log, report: () => {} })
    const sessions = Array.from({ length: 8 }, (_, n) => ({ tenant: 1, sessionId: `ses_${n}` }))
    for (const target of sessions) {
      await log.execute({ ...target, kind: 'create', event: event('session.created', {}) })
    }

    const acknowledged = new Set<string>()
    const refused = new Map<string, number>()
    let running = true
    let answered = Date.now()
    const writers = Array.from({ length: 24 }, async (_, writer) => {
      while (running) {
        const messageId = newId('msg')
        const note = event(
          'note.added',
          { messageId, role: 'system', text: 'x' },
          { eventId: newId('evt') },
        )
        try {
          await log.execute({ ...sessions[writer % 8]!, kind: 'append', events: [note] })
          acknowledged.add(note.eventId)
          answered = Date.now()
        } catch (error) {
          const code = (error as Refusal).code ?? String(error)
          refused.set(code, (refused.get(code) ?? 0) + 1)
          await sleep(20)
        }
      }
    })
    const readers = Array.from({ length: 4 }, async () => {
      while (running) {
        await readMessages(pool, sessions[0]!, { limit: 50, order: 'desc' }).catch(() => sleep(20))
      }
    })

    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      await sleep(700)
      process.kill(server.pid, signal)
      await sleep(300)
      const before = acknowledged.size
      server = await start()
      const back = Date.now()
      while (acknowledged.size === before && Date.now() - back < 15_000) await sleep(20)
      t.ok(
        acknowledged.size > before,
        `${signal}: appends go on ${Date.now() - back} ms after the server is back`,
      )
    }
    await sleep(500)
    running = false
    await Promise.all([...writers, ...readers])
    t.ok(Date.now() - answered < 15_000, 'no promise hangs')

    const rows = await pool.use((connection) =>
      connection.query<{ sid: number; seq: number; event_id: string; head: number }>(
        `select e.sid, e.seq, e.event_id, s.head from stemma.event e join stemma.session s using (sid) order by e.sid, e.seq`,
      ),
    )
    const there = rows.map((row) => row.event_id)
    t.equal(new Set(there).size, there.length, 'nothing is doubled')
    const stored = new Set(there)
    t.equal(
      [...acknowledged].filter((id) => !stored.has(id)).length,
      0,
      `none of ${acknowledged.size} acknowledged is lost`,
    )
    const last = new Map<number, number>()
    let gaps = 0
    for (const { sid, seq } of rows) {
      if (seq !== (last.get(sid) ?? 0) + 1) gaps += 1
      last.set(sid, seq)
    }
    t.equal(gaps, 0, 'seqs have no gap')
    t.ok(
      [...refused.keys()].every((code) => code === 'overloaded' || code === 'outcome_unknown'),
      `refused: ${JSON.stringify([...refused])}`,
    )

    // The projections catch up by themselves, and say what the log says.
    for (let tries = 0; tries < 100; tries += 1) {
      const [behind] = await pool.use((connection) =>
        connection.query<{ n: number }>(
          `select count(*) as n from stemma.session s
           left join stemma.transcript_progress p on p.sid = s.sid where s.head > coalesce(p.seq, 0)`,
        ),
      )
      if (behind!.n === 0) break
      await sleep(100)
    }
    const [kept] = await pool.use((connection) =>
      connection.query<{ n: number; lost: number }>(
        `select count(*) as n, count(*) filter (where p.seq < s.head) as lost
         from stemma.transcript_progress p join stemma.session s using (sid)`,
      ),
    )
    t.same(kept, { n: 8, lost: 0 }, 'the projector caught up')
    const [messages] = await pool.use((connection) =>
      connection.query<{ n: number }>('select count(*) as n from stemma.transcript_message'),
    )
    t.equal(messages!.n, rows.length - 8, 'with a row for each note')
    t.equal((await listSessions(pool, { tenant: 1, limit: 50, order: 'created' })).data.length, 8)

    await projector[Symbol.asyncDispose]()
    await log[Symbol.asyncDispose]()
    await pool[Symbol.asyncDispose]()
    t.equal(await server.stop(), 'stopped')
    t.same(uncaught, [], 'no error was left uncaught')
  },
)
