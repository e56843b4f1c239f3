import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Refusal } from '../../schema/errors.ts'
import { endpointOf, openCutProxy, type CutRule } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { startTestServer } from '../../test/harness/test-server.ts'
import { makeTwin } from '../../test/harness/twin.ts'
import { migrate } from '../database/migrate.ts'
import { openPool } from '../database/pool.ts'
import type { Command } from './command.ts'
import { openLog } from './open-log.ts'

const uncaught: unknown[] = []
process.on('uncaughtException', (error) => uncaught.push(error))
process.on('unhandledRejection', (error) => uncaught.push(error))

const on = (sessionId: string, title: string): Command => ({
  tenant: 1,
  sessionId,
  kind: 'append',
  events: [event('session.renamed', { title })],
})
const create = (sessionId: string): Command => ({
  tenant: 1,
  sessionId,
  kind: 'create',
  event: event('session.created', {}),
})

/** A log whose connections lead through a proxy that cuts. */
const throughProxy = async (
  database: TestDatabase,
  settings: { commandTimeoutMs?: number } = {},
  max = 6,
) => {
  const proxy = await openCutProxy({ to: endpointOf(database.url) })
  const pool = openPool({ url: proxy.url(database.url), max, applicationName: 'cut' })
  const log = openLog({ pool, settings, report: () => {} })
  return {
    proxy,
    log,
    [Symbol.asyncDispose]: async () => {
      await log[Symbol.asyncDispose]()
      await pool[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

const append = /append(_one)?_v1/
const points: readonly CutRule[] = [
  { at: 'before the request', matching: append },
  { at: 'after the request', matching: append },
  { at: 'inside the reply', matching: append },
  { at: 'after the request', matching: append, afterMs: 30 },
]

t.test(
  'L4: the line is cut at every point of an append: each command is answered as if nothing had happened, and is there once',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database)
    await cut.log.execute(create('s'))
    const acknowledged = new Map<string, number>()
    let title = 0
    for (const rule of points) {
      for (const skip of [0, 1]) {
        const done = cut.proxy.cut({ ...rule, skip })
        await Promise.all(
          Array.from({ length: 20 }, async () => {
            const command = on('s', `${(title += 1)}`)
            const outcome = await cut.log.execute(command)
            acknowledged.set(outcome.events[0]!.eventId, outcome.lastSeq)
            t.notOk(outcome.events[0]!.duplicate, 'no retry of ours is seen')
          }),
        )
        await cut.log
          .execute(on('s', `${(title += 1)}`))
          .then((o) => acknowledged.set(o.events[0]!.eventId, o.lastSeq))
        await done
      }
    }
    const rows = await database.pool.use((c) =>
      c.query<{ event_id: string; seq: number }>(
        'select event_id, seq from stemma.event order by seq',
      ),
    )
    t.same(
      rows
        .slice(1)
        .map((row) => row.event_id)
        .toSorted(),
      [...acknowledged.keys()].toSorted(),
    )
    t.ok(
      rows.every(
        (row, index) =>
          row.seq === index + 1 && (index === 0 || acknowledged.get(row.event_id) === row.seq),
      ),
    )
  },
)

t.test(
  'L4: commands of every kind are answered rightly after a cut: turns, creates, inputs',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database)
    for (const [n, rule] of points.entries()) {
      const sessionId = `s${n}`
      const commands: Command[] = [
        create(sessionId),
        {
          tenant: 1,
          sessionId,
          kind: 'admit',
          event: event('input.admitted', {
            messageId: 'm',
            kind: 'prompt',
            text: 'x',
            delivery: 'queue',
          }),
        },
        {
          tenant: 1,
          sessionId,
          kind: 'start-turn',
          turnId: 'trn',
          ownerId: 'own',
          incarnation: 1,
          inputs: ['m'],
          eventId: 'evt_start',
        },
        { tenant: 1, sessionId, kind: 'delete', eventId: 'evt_delete' },
      ]
      const seqs: number[] = []
      for (const command of commands) {
        void cut.proxy.cut(rule)
        const outcome = await cut.log.execute(command)
        seqs.push(outcome.lastSeq)
        if (command.kind === 'start-turn') t.same(outcome.turn, { turnId: 'trn', fence: 1 })
      }
      t.same(seqs, [1, 2, 4, 6], rule.at)
    }
  },
)

t.test(
  'L4: the line is cut while the append waits for a lock: the old backend may still commit, and does so once',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database)
    await cut.log.execute(create('s'))
    await database.pool.use(async (holder) => {
      await holder.query('begin')
      await holder.query(`select from stemma.session where session_id = 's' for update`)
      // The first call skips the locked row; the second lane waits for it, and is cut there.
      const done = cut.proxy.cut({
        at: 'after the request',
        matching: append,
        skip: 1,
        afterMs: 200,
      })
      const waiting = cut.log.execute(on('s', 'once'))
      await done
      await sleep(300)
      await holder.query('commit')
      t.match(await waiting, { lastSeq: 2, events: [{ seq: 2 }] })
    })
    const [row] = await database.pool.use((c) =>
      c.query<{ n: number }>('select count(*) as n from stemma.event'),
    )
    t.equal(row!.n, 2)
  },
)

t.test(
  'L4: of a call that was lost, one command came through another server: the others are not taken for stored',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database)
    const other = openLog({ pool: database.pool, report: () => {} })
    await cut.log.execute(create('s'))
    const [first, second] = [on('s', 'first'), on('s', 'second')]
    const done = cut.proxy.cut({ at: 'before the request', matching: append })
    cut.proxy.refuse(true)
    const both = Promise.all([cut.log.execute(first), cut.log.execute(second)])
    await done
    cut.proxy.cutAll()
    t.match(await other.execute(first), { lastSeq: 2 })
    cut.proxy.refuse(false)
    t.same(
      (await both).map((outcome) => outcome.lastSeq),
      [2, 3],
    )
    const rows = await database.pool.use((c) =>
      c.query<{ event_id: string }>('select event_id from stemma.event order by seq'),
    )
    const ids = [first, second].flatMap((command) =>
      command.kind === 'append' ? command.events.map((e) => e.eventId) : [],
    )
    t.same(
      rows.slice(1).map((row) => row.event_id),
      ids,
    )
    await other[Symbol.asyncDispose]()
  },
)

t.test(
  'L4: a call is lost whose key is known already: the key is answered, and not after the deadline',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database)
    await cut.log.execute(create('s'))
    const keyed = (): Command => ({
      ...on('s', 'keyed'),
      receipt: { commandId: 'key', route: 'r', requestHash: 'h' },
    })
    const first = await cut.log.execute(keyed())
    void cut.proxy.cut({ at: 'before the request', matching: append })
    const began = Date.now()
    const again = await cut.log.execute(keyed())
    t.match(again, { replayed: true, lastSeq: first.lastSeq })
    t.ok(Date.now() - began < 5_000, 'long before the deadline')
  },
)

t.test('L4: a look that cannot be read does not turn a stored append into a refusal', async (t) => {
  await using database = await openTestDatabase()
  await using cut = await throughProxy(database)
  await cut.log.execute(create('s'))
  const done = cut.proxy.cut({ at: 'after the request', matching: append, afterMs: 400 })
  const lost = cut.log.execute(on('s', 'stored')).then(
    () => 'answered',
    (error: Refusal) => error.code,
  )
  await sleep(150)
  // A newer build writes the session after the commit and before the look.
  await database.pool.use((c) => c.query('update stemma.session set state_version = 99'))
  await done
  t.equal(await lost, 'outcome_unknown')
  const [row] = await database.pool.use((c) => c.query('select count(*) as n from stemma.event'))
  t.same(row, { n: 2 }, 'for it was stored')
})

t.test(
  'when nobody can say in time what became of an append, the answer is outcome_unknown, and what follows is not lost',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database, { commandTimeoutMs: 1_000 })
    await cut.log.execute(create('s'))
    const done = cut.proxy.cut({ at: 'after the request', matching: append })
    const lost = cut.log.execute(on('s', 'unknown')).then(
      () => 'answered',
      (error: Refusal) => error.code,
    )
    await done
    cut.proxy.refuse(true)
    cut.proxy.cutAll()
    t.equal(await lost, 'outcome_unknown')
    cut.proxy.refuse(false)
    for (let tries = 0; tries < 50; tries += 1) {
      const answer = await cut.log.execute(on('s', 'after')).catch((error: Refusal) => error)
      if (!(answer instanceof Error)) break
      await sleep(100)
    }
    const [row] = await database.pool.use((c) =>
      c.query<{ n: number }>(
        `select count(*) as n from stemma.event where type = 'session.renamed'`,
      ),
    )
    t.ok(row!.n >= 1 && row!.n <= 2, `${row!.n} renamed`)
  },
)

t.test(
  'connections are cut at random under load: nothing acknowledged is lost, nothing is doubled, no promise hangs',
  async (t) => {
    await using database = await openTestDatabase()
    await using cut = await throughProxy(database)
    const sessions = Array.from({ length: 8 }, (_, n) => `s${n}`)
    for (const id of sessions) await cut.log.execute(create(id))
    const acknowledged = new Set<string>()
    const refused = new Map<string, number>()
    const ends = Date.now() + 4_000
    const cutting = (async () => {
      while (Date.now() < ends) {
        await sleep(20 + Math.random() * 60)
        cut.proxy.cutAll()
      }
    })()
    await Promise.all(
      Array.from({ length: 32 }, async (_, writer) => {
        while (Date.now() < ends) {
          const command = on(sessions[writer % 8]!, 'x')
          try {
            const outcome = await cut.log.execute(command)
            acknowledged.add(outcome.events[0]!.eventId)
          } catch (error) {
            const { code } = error as Refusal
            refused.set(code, (refused.get(code) ?? 0) + 1)
          }
        }
      }),
    )
    await cutting
    const rows = await database.pool.use((c) =>
      c.query<{ sid: number; seq: number; event_id: string }>(
        `select sid, seq, event_id from stemma.event where type = 'session.renamed' order by sid, seq`,
      ),
    )
    const there = new Set(rows.map((row) => row.event_id))
    t.ok(acknowledged.size > 50, `${acknowledged.size} acknowledged`)
    t.ok(
      [...acknowledged].every((id) => there.has(id)),
      'each is there',
    )
    t.equal(there.size, rows.length, 'once')
    t.ok(
      rows.length - acknowledged.size <= (refused.get('outcome_unknown') ?? 0),
      'and nothing else but what was said to be unknown',
    )
    t.ok(
      [...refused.keys()].every((code) => code === 'overloaded' || code === 'outcome_unknown'),
      `refused: ${JSON.stringify([...refused])}`,
    )
  },
)

t.test(
  'L9: a call that was lost on its way to one log is not sent to another, whose session has its number and head',
  async (t) => {
    await using database = await openTestDatabase()
    const other = await startTestServer()
    t.teardown(() => other.kill())
    const twin = await makeTwin(database, other.url)
    await using twinPool = openPool({ url: twin, max: 2, applicationName: 'twin' })
    await migrate(twinPool)
    const twinLog = openLog({ pool: twinPool, report: () => {} })
    await twinLog.execute(create('s'))
    await twinLog.execute(on('s', 'as many events'))
    // One connection, so that the next one leads to the other log.
    await using cut = await throughProxy(database, {}, 1)
    await cut.log.execute(create('s'))
    await cut.log.execute({
      tenant: 1,
      sessionId: 's',
      kind: 'start-turn',
      turnId: 'trn_1',
      ownerId: 'own_1',
      incarnation: 1,
      inputs: [],
      eventId: 'evt_start',
    })
    cut.proxy.lead(endpointOf(twin))
    void cut.proxy.cut({ at: 'before the request', matching: append })
    const refusal = await cut.log.execute(on('s', 'lost')).then(
      () => undefined,
      (error: unknown) => error as Refusal,
    )
    t.equal(refusal?.code, 'outcome_unknown')
    const [session] = await twinPool.use((c) =>
      c.query<{ head: number; state: string }>(
        'select head, state::text as state from stemma.session',
      ),
    )
    t.match(session, { head: 2, state: /^((?!trn_1).)*$/ })
    t.equal(
      (await cut.log.execute(on('s', 'next'))).lastSeq,
      3,
      'what comes next is for the new log',
    )
    await twinLog[Symbol.asyncDispose]()
  },
)

t.test('no error was left uncaught by all of this', async (t) => {
  t.same(uncaught, [])
})
