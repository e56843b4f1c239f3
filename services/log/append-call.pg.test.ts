import t from 'tap'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import type { Pool } from '../database/pool.ts'
import { callAppend, type SessionAppend } from './append-call.ts'
import { emptyState } from './session-state.ts'

/** Two events with a name and a receipt, onto a session whose head is 1. */
const appendTo = (sid: number, sessionId: string): SessionAppend => ({
  sid,
  tenant: 1,
  sessionId,
  expected: 1,
  head: 3,
  state: emptyState,
  events: [
    { seq: 2, eventId: 'evt_2', type: 'x.one', version: 1, data: { nul: '\u0000' }, meta: {} },
    {
      seq: 3,
      eventId: 'evt_3',
      type: 'x.two',
      version: 2,
      data: {},
      meta: { a: [1] },
      occurredAt: '2026-01-02T03:04:05.123456+01:00',
    },
  ],
  names: [{ name: 'message:msg_1', seq: 3 }],
  receipts: [
    {
      commandId: 'key',
      route: 'POST /x',
      requestHash: 'hash',
      status: 200,
      firstSeq: 2,
      lastSeq: 3,
      result: { firstSeq: 2 },
    },
  ],
  guards: [],
})

const only = (append: SessionAppend): SessionAppend => ({
  ...append,
  head: 2,
  events: append.events.slice(0, 1),
  names: [],
  receipts: [],
  guards: [],
})

const makeSession = async (pool: Pool, sessionId: string): Promise<number> => {
  const append = {
    ...only(appendTo(0, sessionId)),
    expected: 0,
    head: 1,
    events: [{ seq: 1, eventId: 'evt_1', type: 'x.zero', version: 1, data: {}, meta: {} }],
  }
  const [result] = await pool.use((c) => callAppend(c, [append], { wait: true }))
  return result!.sid
}

const call = (pool: Pool, append: SessionAppend, wait: boolean) =>
  pool.use((connection) => callAppend(connection, [append], { wait }))

/** All that is stored of a session, but for its number, its positions and the time. */
const stored = ({ pool }: TestDatabase, sid: number) =>
  pool.use(async (c) => ({
    session: await c.query('select head, state, state_version from stemma.session where sid = $1', [
      sid,
    ]),
    events: await c.query(
      `select seq, tenant, event_id, type, version, data, meta,
         case when seq = 3 then occurred_at end as occurred_at, occurred_at = recorded_at as same
         from stemma.event where sid = $1 order by seq`,
      [sid],
    ),
    order: await c.query(
      `select array_agg(seq order by position)::text from stemma.event where sid = $1`,
      [sid],
    ),
    names: await c.query('select name, seq from stemma.name where sid = $1', [sid]),
    receipts: await c.query(
      `select command_id, route, request_hash, status, seqs::text, result from stemma.receipt
         where sid = $1`,
      [sid],
    ),
  }))

t.test('a call of one session stores the same by the short way as by the long way', async (t) => {
  await using database = await openTestDatabase()
  for (const shape of [(append: SessionAppend) => append, only]) {
    const ways = await Promise.all(
      [false, true].map(async (wait) => {
        const sessionId = `s_${wait}_${shape.name}`
        const sid = await makeSession(database.pool, sessionId)
        const append = shape(appendTo(sid, sessionId))
        t.match(await call(database.pool, append, wait), [
          { outcome: 'ok', sid, head: append.head },
        ])
        return stored(database, sid)
      }),
    )
    t.equal(ways[0]!.events.length, shape === only ? 2 : 3)
    t.same(ways[0], ways[1])
  }
})

t.test(
  'L2: the short way does nothing where the head has moved or the session is another',
  async (t) => {
    await using database = await openTestDatabase()
    const sid = await makeSession(database.pool, 's')
    const before = await stored(database, sid)
    const append = appendTo(sid, 's')
    const cases = [
      [{ ...append, expected: 2, head: 4 }, 'conflict'],
      [{ ...append, sessionId: 'other' }, 'missing'],
      [{ ...append, tenant: 2 }, 'missing'],
      [{ ...append, sid: sid + 1 }, 'missing'],
    ] as const
    for (const [wrong, outcome] of cases) {
      t.match(await call(database.pool, wrong, false), [{ outcome }])
    }
    await database.pool.use(async (holder) => {
      await holder.query('begin')
      await holder.query('select from stemma.session where sid = $1 for update', [sid])
      t.match(await call(database.pool, append, false), [{ outcome: 'locked' }])
      await holder.query('rollback')
    })
    t.same(await stored(database, sid), before)
  },
)

t.test(
  'L6: a call fails whose events are not as many as its head says, by either way',
  async (t) => {
    await using database = await openTestDatabase()
    const sid = await makeSession(database.pool, 's')
    const before = await stored(database, sid)
    const append = appendTo(sid, 's')
    await t.rejects(call(database.pool, { ...append, head: 4 }, false), { code: 'P0S02' })
    await t.rejects(call(database.pool, { ...append, events: [] }, true), { code: 'P0S02' })
    t.same(await stored(database, sid), before)
  },
)
