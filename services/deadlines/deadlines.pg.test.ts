import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { append, holdTurn, logOf } from '../../test/harness/held-turn.ts'
import { called, event, stepStarted } from '../../test/harness/rehearsal.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { projectSessions } from '../projector/project-sessions.ts'
import { startDeadlines, writeDue } from './start-deadlines.ts'
import { dueAtOnce } from './read-due.ts'

const lookAt = async ({ database, log, reported }: TestApp): Promise<readonly unknown[]> => {
  await log.horizon.ready
  while (await projectSessions(database.pool));
  return writeDue({ pool: database.pool, log, report: (problem) => reported.push(problem) })
}

const ask = (requestId: string, expiresInMs?: number) =>
  event('request.opened', {
    requestId,
    kind: 'question',
    questions: [{ question: 'which?', options: [{ label: 'a' }] }],
    ...(expiresInMs !== undefined && {
      expiresAt: new Date(Date.now() + expiresInMs).toISOString(),
    }),
  })

const typesOf = async (api: TestApp, sessionId = 's'): Promise<string[]> =>
  (await logOf(api, sessionId)).map(({ type }) => type)

const makeLapse = (api: TestApp): Promise<unknown> =>
  api.database.pool.use((connection) =>
    connection.query(`update stemma.owner set ended_at = now(), end_reason = 'x'
      where owner_id = 'own_1'`),
  )

t.test('a request that nobody answered in its time is closed as expired, once', async (t) => {
  await using api = await openTestApp()
  const turn = await holdTurn(api, 's')
  await turn.append([ask('past', -1_000), ask('soon', 400), ask('later', 60_000), ask('never')])
  t.same(await lookAt(api), [])
  t.same(await lookAt(api), [])
  const closed = async (): Promise<unknown[]> =>
    (await logOf(api, 's')).filter(({ type }) => type === 'request.closed').map(({ data }) => data)
  t.same(await closed(), [{ requestId: 'past', reason: 'expired' }])
  await sleep(450)
  await lookAt(api)
  t.same(await closed(), [
    { requestId: 'past', reason: 'expired' },
    { requestId: 'soon', reason: 'expired' },
  ])
  t.match((await api.call('GET', '/v1/sessions/s')).body, { data: { status: 'requires_action' } })
  t.equal((await turn.append([ask('one_more')])).status, 200, 'the turn goes on')
  t.same(api.reported, [])
})

t.test(
  'an interruption that has a grace ends the turn when it is over, and not before',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted(), called('c')])
    const stop = { reason: 'enough', device: 'phone', graceMs: 600 }
    await api.call('POST', `${turn.at}/interrupt`, stop)
    await lookAt(api)
    t.notOk((await typesOf(api)).includes('turn.ended'), 'its owner has its time')
    await sleep(650)
    await lookAt(api)
    t.same((await typesOf(api)).slice(-3), ['tool.settled', 'step.failed', 'turn.ended'])
    t.match((await api.call('GET', turn.at)).body, {
      data: {
        outcome: 'interrupted',
        fence: 2,
        interrupt: { reason: 'enough', by: { device: 'phone' } },
      },
    })
    t.match(await turn.append([stepStarted('msg_2')]), { status: 409, body: { code: 'fenced' } })
    t.same(api.reported, [])
  },
)

t.test(
  'an interruption without a grace is its owner’s, and the store’s when the owner is gone',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await api.call('POST', `${turn.at}/interrupt`, { reason: 'enough' })
    await lookAt(api)
    t.notOk((await typesOf(api)).includes('turn.ended'))
    await makeLapse(api)
    await lookAt(api)
    t.match((await api.call('GET', turn.at)).body, { data: { outcome: 'interrupted' } })
  },
)

t.test(
  'what is due in a live copy is its source’s, until somebody else writes to it: then its import diverged',
  async (t) => {
    await using api = await openTestApp()
    const origin = { system: 'other', sessionId: 's', live: true }
    const asked = { kind: 'question', expiresAt: '2026-01-01T00:00:00Z' }
    const by = { subject: 'someone' }
    const turn = { turnId: 'trn_1', ownerId: 'other', fence: 1, inputs: [] }
    const stop = { turnId: 'trn_1', reason: 'x', by }
    const events = [
      { type: 'session.created', data: { origin } },
      { type: 'turn.started', data: turn },
      ...['req_1', 'req_2'].map((requestId) => ({
        type: 'request.opened',
        data: { requestId, ...asked },
      })),
      { type: 'turn.interrupt.requested', data: stop },
      {
        type: 'request.answered',
        data: { requestId: 'req_1', messageId: 'msg_a', answers: [['a']], by },
      },
      { type: 'turn.ended', data: { turnId: 'trn_1', outcome: 'interrupted', fence: 1 } },
    ].map((given, n) => ({ eventId: `evt_${n}`, ...given }))
    const bring = (count: number) =>
      api.call('POST', '/v1/imports', { origin, events: events.slice(0, count) })
    t.match(await bring(5), { status: 200, body: { data: { added: 5 } } })
    t.same(await lookAt(api), [])
    t.match(await bring(6), { status: 200, body: { data: { added: 1 } } }, 'the source goes on')
    t.same(await lookAt(api), [])
    t.equal((await logOf(api, 's')).length, 6)
    const note = event('note.added', { messageId: 'msg_n', role: 'system', text: 'x' })
    t.equal((await append(api, 's', note)).status, 200)
    t.same(await lookAt(api), [])
    t.same((await typesOf(api)).slice(7), ['request.closed', 'turn.ended'])
    for (let n = 0; n < 2; n += 1) {
      t.match(await bring(7), { status: 409, body: { code: 'import_diverged', importSeq: 6 } })
    }
    t.same(api.reported, [])
  },
)

t.test('what was released after it was interrupted is ended, too', async (t) => {
  await using api = await openTestApp()
  const turn = await holdTurn(api, 's')
  await api.call('POST', `${turn.at}/interrupt`, { reason: 'enough' })
  await api.call('POST', `${turn.at}/release`, { fence: 1 })
  await lookAt(api)
  t.match((await api.call('GET', turn.at)).body, { data: { outcome: 'interrupted' } })
})

t.test(
  'nothing happens to a turn that nobody asked to stop, whatever became of its owner',
  async (t) => {
    await using api = await openTestApp()
    await holdTurn(api, 's')
    await makeLapse(api)
    await lookAt(api)
    t.notOk((await typesOf(api)).includes('turn.ended'))
  },
)

t.test(
  'all that is due is written, in whatever number; a session that fails holds up none',
  async (t) => {
    await using api = await openTestApp()
    const many = dueAtOnce + 20
    for (let n = 0; n < many; n += 1) {
      const turn = await holdTurn(api, `ses_${n}`)
      await turn.append([ask('req', -1_000)])
    }
    while (await projectSessions(api.database.pool));
    const broken = 'ses_7'
    const { pool } = api.database
    const failures = await writeDue({
      pool,
      report: () => {},
      log: {
        execute: async (command) => {
          if (command.sessionId === broken) throw new Error('broken')
          return api.log.execute(command)
        },
      },
    })
    t.match(failures, [{ message: 'broken' }])
    const closed = await pool.use((connection) =>
      connection.query<{ count: number }>(
        `select count(*)::int as count from stemma.event where type = 'request.closed'`,
      ),
    )
    t.same(closed, [{ count: many - 1 }])
  },
)

t.test('a session whose row somebody holds does not hold up the deadlines of others', async (t) => {
  await using api = await openTestApp()
  const { pool } = api.database
  const locked = await holdTurn(api, 'locked')
  await locked.append([ask('req', -1_000)])
  const other = await holdTurn(api, 's')
  await other.append([ask('req', 1_200)])
  while (await projectSessions(pool));
  const report = (problem: unknown): void => void api.reported.push(problem)
  const closed = async (): Promise<boolean> => (await typesOf(api)).includes('request.closed')
  await pool.use(async (connection) => {
    await connection.query('begin')
    await connection.query(`select 1 from stemma.session where session_id = 'locked' for update`)
    await using deadlines = startDeadlines({ pool, log: api.log, report })
    t.ok(deadlines)
    // A server that is idle in a transaction for long is cut off, hence the queries.
    for (let n = 0; n < 30 && !(await closed()); n += 1) {
      await sleep(200)
      await connection.query('select 1 as one')
    }
    t.ok(await closed(), 'while the row is held')
    await connection.query('rollback')
  })
})

t.test('two servers that look at once write one closing, and report nothing', async (t) => {
  await using a = await openTestApp()
  await using b = await openTestApp({ database: a.database })
  const turn = await holdTurn(a, 's')
  const { pool } = a.database
  const report = (problem: unknown): void => void a.reported.push(problem)
  await using one = startDeadlines({ pool, log: a.log, report })
  await using two = startDeadlines({ pool, log: b.log, report })
  await turn.append([ask('req', 300)])
  for (let n = 0; n < 100 && !(await typesOf(a)).includes('request.closed'); n += 1) {
    await projectSessions(pool)
    await sleep(50)
  }
  await sleep(800)
  t.equal((await typesOf(a)).filter((type) => type === 'request.closed').length, 1)
  t.same([...a.reported, ...b.reported], [])
  t.ok(one && two)
})
