import t from 'tap'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { event, prompt, stepStarted } from '../../test/harness/rehearsal.ts'
import type { Refusal } from '../../schema/errors.ts'
import type { Act, Command } from './command.ts'
import { defaultLimits } from './rules/decide.ts'
import { runCarefully } from './careful.ts'
import { openLog, type Log } from './open-log.ts'
import { readEvents } from './read-events.ts'
import { readSession } from './load-session.ts'

const target = { tenant: 1, sessionId: 'ses_1' }

const withLogs = async (
  count: number,
  work: (database: TestDatabase, ...logs: Log[]) => Promise<void>,
): Promise<void> => {
  await using database = await openTestDatabase()
  const logs = Array.from({ length: count }, () =>
    openLog({ pool: database.pool, report: () => {} }),
  )
  try {
    await work(database, ...logs)
  } finally {
    for (const log of logs) await log[Symbol.asyncDispose]()
  }
}

const on = (act: Act & Partial<Command>): Command => ({ ...target, ...act })
const create = (): Command => on({ kind: 'create', event: event('session.created', {}) })
const rename = (title: string) => event('session.renamed', { title })
const refusalOf = (work: Promise<unknown>): Promise<Refusal> =>
  work.then(
    () => {
      throw new Error('it was accepted')
    },
    (error: Refusal) => error,
  )

t.test('what was appended is read as it went in, with its seqs', async (t) => {
  await withLogs(1, async ({ pool }, log) => {
    await log.execute(create())
    const data = { set: { nul: '\u0000', lone: '\ud800', deep: { __proto__: null, n: 0.1 } } }
    const meta = { mine: { a: [1, null] } }
    const sent = event('session.metadata.updated', data, {
      meta,
      occurredAt: '2026-01-02T03:04:05.123456+01:00',
    })
    const outcome = await log.execute(on({ kind: 'append', events: [sent] }))
    t.same(outcome.events, [{ eventId: sent.eventId, seq: 2 }])
    const session = await pool.use((connection) => readSession(connection, target))
    const rows = await pool.use((c) => readEvents(c, session!.sid, { afterSeq: 0, limit: 10 }))
    t.same(
      rows.map((row) => row.seq),
      [1, 2],
    )
    t.same(JSON.parse(rows[1]!.data), data)
    t.same(JSON.parse(rows[1]!.meta), meta)
    t.equal(rows[1]!.occurredAt, '2026-01-02T02:04:05.123456Z', 'the same instant')
  })
})

t.test(
  'L2: two servers append to one session at once, and each event gets a seq of its own (case 1)',
  async (t) => {
    await withLogs(2, async ({ pool }, a, b) => {
      await a.execute(create())
      const seqs: number[] = []
      await Promise.all(
        [a, b].flatMap((log) =>
          Array.from({ length: 20 }, async (_, writer) => {
            for (let n = 0; n < 10; n += 1) {
              const outcome = await log.execute(
                on({ kind: 'append', events: [rename(`${writer} ${n}`)] }),
              )
              seqs.push(outcome.lastSeq)
            }
          }),
        ),
      )
      t.same(
        seqs.toSorted((x, y) => x - y),
        Array.from({ length: 400 }, (_, i) => i + 2),
      )
      const session = await pool.use((connection) => readSession(connection, target))
      t.equal(session?.headSeq, 401)
    })
  },
)

t.test(
  'L3: a refusal is made on the state as it is, not on the state that a server kept',
  async (t) => {
    await withLogs(2, async (_, a, b) => {
      await a.execute(create())
      await a.execute(on({ kind: 'append', events: [rename('a')] }))
      await b.execute(on({ kind: 'append', events: [event('session.archived', {})] }))
      // a still believes that the session is not archived, and b that no turn is active.
      await a.execute(on({ kind: 'append', events: [event('session.unarchived', {})] }))
      await a.execute(
        on({
          kind: 'start-turn',
          turnId: 'trn_1',
          ownerId: 'own_a',
          incarnation: 1,
          inputs: [],
          eventId: 'evt_t',
        }),
      )
      await b.execute(on({ kind: 'append', events: [stepStarted()], turnId: 'trn_1', fence: 1 }))
      const late = await refusalOf(
        b.execute(on({ kind: 'append', events: [stepStarted('msg_2')] })),
      )
      t.equal(late.code, 'fence_required')
      const second = await refusalOf(
        b.execute(
          on({
            kind: 'start-turn',
            turnId: 'trn_2',
            ownerId: 'own_b',
            incarnation: 1,
            inputs: [],
            eventId: 'evt_u',
          }),
        ),
      )
      t.equal(second.code, 'turn_active')
      t.same(second.members, { turnId: 'trn_1', ownerId: 'own_a' })
    })
  },
)

t.test('two creates of one session at once: one makes it, the other is refused', async (t) => {
  await withLogs(2, async (_, a, b) => {
    const results = await Promise.allSettled(
      [a, b].flatMap((log) => [log.execute(create()), log.execute(create())]),
    )
    t.equal(results.filter((r) => r.status === 'fulfilled').length, 1)
    t.ok(
      results.every(
        (r) => r.status === 'fulfilled' || (r.reason as Refusal).code === 'duplicate_id',
      ),
    )
  })
})

t.test(
  'case 2: two turns are started at once, through two servers: one starts, the other is told whose it is',
  async (t) => {
    await withLogs(2, async (_, a, b) => {
      await a.execute(create())
      const start = (log: Log, id: string) =>
        log.execute(
          on({
            kind: 'start-turn',
            turnId: `trn_${id}`,
            ownerId: `own_${id}`,
            incarnation: 1,
            inputs: [],
            eventId: `evt_${id}`,
          }),
        )
      const [x, y] = await Promise.allSettled([start(a, 'a'), start(b, 'b')])
      const won = x.status === 'fulfilled' ? x.value : (y as PromiseFulfilledResult<never>).value
      const lost = (
        x.status === 'rejected' ? x.reason : (y as PromiseRejectedResult).reason
      ) as Refusal
      t.equal(lost.code, 'turn_active')
      t.equal(lost.members['turnId'], (won as { turn: { turnId: string } }).turn.turnId)
    })
  },
)

t.test(
  'ids stay taken when what they named is long closed, also for a server that never saw it',
  async (t) => {
    await withLogs(2, async (_, a, b) => {
      await a.execute(create())
      await a.execute(on({ kind: 'admit', event: prompt('msg_1') }))
      await a.execute(on({ kind: 'cancel-input', messageId: 'msg_1', eventId: 'evt_c' }))
      for (const log of [a, b]) {
        const refusal = await refusalOf(log.execute(on({ kind: 'admit', event: prompt('msg_1') })))
        t.equal(refusal.code, 'duplicate_id')
      }
    })
  },
)

t.test(
  'case 50: known event ids are answered with their seqs through any server, others are refused',
  async (t) => {
    await withLogs(2, async (_, a, b) => {
      await a.execute(create())
      const events = [rename('1'), rename('2')]
      await a.execute(on({ kind: 'append', events: [events[0]!] }))
      for (const log of [a, b]) {
        const outcome = await log.execute(
          on({ kind: 'append', events, expectedSeq: log === a ? 2 : 3 }),
        )
        t.same(
          outcome.events.map((e) => [e.seq, e.duplicate ?? false]),
          [
            [2, true],
            [3, log === b],
          ],
        )
      }
      const other = { ...events[0]!, data: { title: 'other' } } as (typeof events)[0]
      const refusal = await refusalOf(b.execute(on({ kind: 'append', events: [other] })))
      t.equal(refusal.code, 'event_id_reused')
    })
  },
)

t.test(
  'a command with a receipt is answered again, and refused under the same key for another request',
  async (t) => {
    await withLogs(2, async ({ pool }, a, b) => {
      const receipt = { commandId: 'key_1', route: 'POST /v1/sessions', requestHash: 'h1' }
      const first = await a.execute({ ...create(), receipt })
      const again = await b.execute({ ...create(), receipt })
      t.same(again, { ...first, replayed: true })
      const other = await refusalOf(
        a.execute({ ...create(), receipt: { ...receipt, requestHash: 'h2' } }),
      )
      t.equal(other.code, 'key_reused')
      const six = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          (n % 2 ? a : b).execute(
            on({
              kind: 'append',
              events: [event('session.viewed', {})],
              receipt: { commandId: 'key_2', route: 'r', requestHash: 'h' },
            }),
          ),
        ),
      )
      t.equal(new Set(six.map((outcome) => outcome.lastSeq)).size, 1)
      const session = await pool.use((connection) => readSession(connection, target))
      t.equal(session?.headSeq, 2)
    })
  },
)

t.test('L5: events are immutable, and not removed', async (t) => {
  await withLogs(1, async ({ pool }, log) => {
    await log.execute(create())
    for (const sql of [
      `update stemma.event set type = 'x'`,
      'delete from stemma.event',
      'truncate stemma.event',
    ]) {
      await t.rejects(
        pool.use((c) => c.query(sql)),
        { code: 'P0S01' },
        sql,
      )
    }
  })
})

t.test('a refused command writes nothing at all', async (t) => {
  await withLogs(1, async ({ pool }, log) => {
    await log.execute(create())
    const count = () =>
      pool.use((c) =>
        c.query(`select (select count(*) from stemma.event) e, (select count(*) from stemma.name) n,
          (select count(*) from stemma.receipt) r, (select head from stemma.session) h`),
      )
    const before = await count()
    await refusalOf(
      log.execute(
        on({
          kind: 'append',
          events: [rename('x'), stepStarted()],
          receipt: { commandId: 'k', route: 'r', requestHash: 'h' },
        }),
      ),
    )
    t.same(await count(), before)
  })
})

t.test('the state of a session stays small', async (t) => {
  await withLogs(1, async ({ pool }, log) => {
    await log.execute(create())
    for (let n = 0; n < 5; n += 1) {
      await log.execute(
        on({
          kind: 'start-turn',
          turnId: `trn_${n}`,
          ownerId: 'own',
          incarnation: 1,
          inputs: [],
          eventId: `evt_${n}`,
        }),
      )
      const events = [
        stepStarted(`msg_${n}`),
        event('text.ended', { messageId: `msg_${n}`, partId: 't', text: 'x'.repeat(5000) }),
      ]
      await log.execute(
        on({
          kind: 'append',
          events: [
            ...events,
            event('turn.ended', { turnId: `trn_${n}`, outcome: 'completed', fence: n + 1 }),
          ],
          turnId: `trn_${n}`,
          fence: n + 1,
        }),
      )
    }
    const [row] = await pool.use((c) =>
      c.query<{ size: number }>('select length(state::text) as size from stemma.session'),
    )
    t.ok(row!.size < 50, `${row!.size} characters after five turns`)
  })
})

t.test('an id that is taken is refused by name also under the lock of the row', async (t) => {
  await withLogs(1, async ({ pool }, log) => {
    await log.execute(create())
    await log.execute(on({ kind: 'admit', event: prompt('msg_1') }))
    const carefully = (command: Command) =>
      runCarefully(
        pool,
        { command, bytes: 1, deadline: Date.now() + 5_000, resolve: () => {}, reject: () => {} },
        2,
        defaultLimits,
      )
    const refusal = await refusalOf(carefully(on({ kind: 'admit', event: prompt('msg_1') })))
    t.equal(refusal.code, 'duplicate_id')
    t.match(refusal.message, /msg_1/)
    t.match(await carefully(on({ kind: 'admit', event: prompt('msg_2') })), {
      outcome: { lastSeq: 3 },
    })
  })
})

t.test(
  'L9: what was decided on another log is not stored in the session that has its number now',
  async (t) => {
    await withLogs(1, async ({ pool }, log) => {
      await log.execute(create())
      await log.execute(on({ kind: 'append', events: [rename('kept state')] }))
      // As after a restore: the same sid and head, but somebody else's session.
      await pool.use((c) => c.query(`update stemma.session set session_id = 'victim'`))
      const refusal = await refusalOf(log.execute(on({ kind: 'append', events: [rename('x')] })))
      t.equal(refusal.code, 'session_not_found')
      const [row] = await pool.use((c) => c.query('select count(*) as n from stemma.event'))
      t.same(row, { n: 2 })
    })
  },
)
