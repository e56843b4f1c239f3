import t, { type Test } from 'tap'
import { holdTurn } from '../../test/harness/held-turn.ts'
import { event, stepStarted } from '../../test/harness/rehearsal.ts'
import { playLists } from '../../test/harness/random-lists.ts'
import { seeded } from '../../test/harness/seeded.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { writeDue } from '../deadlines/start-deadlines.ts'
import { readSession } from '../log/load-session.ts'
import { readTree } from '../reads/read-tree.ts'
import { projectSessions } from './project-sessions.ts'

const project = async ({ database, reported }: TestApp): Promise<void> => {
  while (await projectSessions(database.pool, (problem) => reported.push(problem)));
}

/** As a faulty writer would leave it: an event behind the session's last, past all checks. */
const insert = ({ database }: TestApp, sessionId: string, type: string, data: unknown) =>
  database.pool.use((connection) =>
    connection.query(
      `with s as (update stemma.session set head = head + 1 where session_id = $1 returning *)
       insert into stemma.event
         select sid, head, tenant, nextval('stemma.position'), 'evt_' || head, $2, 1,
           $3::text::json, '{}', now(), now() from s`,
      [sessionId, type, JSON.stringify(data)],
    ),
  )

const asked = (requestId: string, expiresAt?: string) =>
  event('request.opened', {
    requestId,
    kind: 'question',
    questions: [{ question: 'which?', options: [{ label: 'a' }] }],
    ...(expiresAt !== undefined && { expiresAt }),
  })

const stalledOf = ({ database }: TestApp) =>
  database.pool.use((connection) =>
    connection.query<{ session_id: string; seq: number; code: string; tries: number }>(
      `select session_id, seq, code, tries from stemma.lists_stalled l
         join stemma.session using (sid) order by sid`,
    ),
  )

/** The seqs of the kept rows, by session. */
const keptOf = async ({ database }: TestApp): Promise<Record<string, number>> => {
  const rows = await database.pool.use((connection) =>
    connection.query<{ session_id: string; seq: number }>(
      'select session_id, i.seq from stemma.session_info i join stemma.session using (sid)',
    ),
  )
  return Object.fromEntries(rows.map(({ session_id: sessionId, seq }) => [sessionId, seq]))
}

const idsOf = async ({ call }: TestApp, url: string, key: string): Promise<unknown[]> => {
  const { status, body, text } = await call('GET', url)
  if (status !== 200) throw new Error(`${url}: ${text}`)
  return (body as { data: Record<string, unknown>[] }).data.map((row) => row[key])
}

/** That every list answers, with what stands in the sessions. */
const listsGoOn = async (t: Test, api: TestApp, sessions: readonly string[], when: string) => {
  const all = sessions.toSorted()
  for (const url of ['/v1/sessions?', '/v1/sessions?order=updated&']) {
    t.same((await idsOf(api, `${url}limit=50`, 'sessionId')).toSorted(), all, `${url} ${when}`)
  }
  t.same(await idsOf(api, '/v1/sessions?search=nothing', 'sessionId'), [], when)
  const held = await idsOf(api, '/v1/owners/own_1/turns', 'sessionId')
  t.same(held.toSorted(), all, `turns of the owner, ${when}`)
  t.same((await idsOf(api, '/v1/work', 'sessionId')).toSorted(), all, `work, ${when}`)
  t.same((await idsOf(api, '/v1/requests?status=open', 'sessionId')).toSorted(), all, when)
  for (const sessionId of all) {
    const at = `/v1/sessions/${sessionId}`
    for (const url of [at, `${at}/turns`, `${at}/turns/trn_1`]) {
      const { status, text } = await api.call('GET', url)
      t.equal(status, 200, `${url} ${when} ${text}`)
    }
  }
}

/** What the lists cannot take, and why. */
const poisons = [
  { what: 'folded: no content', type: 'input.delivered', data: null, code: 'TypeError' },
  { what: 'folded: no id', type: 'turn.claimed', data: { turnId: 'a b' }, code: 'TypeError' },
  {
    what: 'folded: a grace that is none',
    type: 'turn.interrupt.requested',
    data: { turnId: 'trn_1', reason: 'r', by: { subject: 's' }, graceMs: 'soon' },
    code: 'RangeError',
  },
  { what: 'folded: no agent', type: 'agent.selected', data: null, code: 'TypeError' },
  {
    what: 'written: a number out of range',
    type: 'turn.started',
    data: { turnId: 'trn_2', ownerId: 'own_1', incarnation: 1e20, fence: 2, inputs: [] },
    code: '22003',
  },
  {
    what: 'written: a text with NUL',
    type: 'turn.started',
    data: { turnId: 'trn_2', ownerId: 'own_\0', incarnation: 1, fence: 2, inputs: [] },
    code: '22021',
  },
] as const

for (const { what, type, data, code } of poisons) {
  t.test(
    `a session with an event that cannot be ${what}, is set aside and reported once, and the lists go on for all others`,
    async (t) => {
      await using api = await openTestApp()
      const { call, database } = api
      for (const sessionId of ['before', 'bad', 'after']) await holdTurn(api, sessionId)
      const turns = ['before', 'bad', 'after'].map(
        (id) => [id, `/v1/sessions/${id}/events`] as const,
      )
      for (const [, url] of turns) {
        await call('POST', url, { turnId: 'trn_1', fence: 1, events: [body(asked('req'))] })
      }
      await insert(api, 'bad', type, data)
      const seq = await headOf(api, 'bad')
      await database.pool.use((connection) =>
        connection.query(`update stemma.owner set ended_at = now(), end_reason = 'x'`),
      )
      const all = ['before', 'bad', 'after']
      await listsGoOn(t, api, all, 'in the tail')
      for (let pass = 0; pass < 3; pass += 1) await project(api)
      t.same(await stalledOf(api), [{ session_id: 'bad', seq, code, tries: 1 }])
      t.match(api.reported, [{ message: new RegExp(`stalled .* at seq ${seq}: ${code}`) }])
      t.equal(api.reported.length, 1, 'not with each pass')
      t.equal((await keptOf(api)).bad, seq - 1, 'its rows end before the event')
      await listsGoOn(t, api, all, 'set aside')
      t.match((await call('GET', '/v1/projections')).body, {
        data: [{ name: 'sessions', stalled: 1 }, {}],
      })

      // Others are written, also when it is appended to.
      for (const sessionId of all) {
        await call('PATCH', `/v1/sessions/${sessionId}`, { title: `new ${sessionId}` })
      }
      const expired = { ...asked('late', new Date(Date.now() - 1_000).toISOString()) }
      const more = await call('POST', '/v1/sessions/after/events', {
        turnId: 'trn_1',
        fence: 1,
        events: [body(expired)],
      })
      t.equal(more.status, 200, more.text)
      await project(api)
      const kept = await keptOf(api)
      t.same(kept, {
        before: await headOf(api, 'before'),
        bad: seq - 1,
        after: await headOf(api, 'after'),
      })
      t.match(await stalledOf(api), [{ seq, tries: 2 }], 'an append has it tried again')
      await project(api)
      t.match(await stalledOf(api), [{ tries: 2 }], 'once')
      t.match((await call('GET', '/v1/sessions/bad')).body, { data: { title: 'new bad' } })
      t.same(await idsOf(api, '/v1/sessions?search=new%20bad', 'sessionId'), ['bad'])

      const failures = await writeDue({ pool: database.pool, log: api.log, report: () => {} })
      t.same(failures, [])
      t.match((await call('GET', '/v1/requests?status=closed')).body, {
        data: [{ requestId: 'late', sessionId: 'after' }],
      })
      t.equal(api.reported.length, 1)
    },
  )
}

const body = ({ type, data }: { type: string; data: unknown }) => ({ type, data })

const headOf = async ({ call }: TestApp, sessionId: string): Promise<number> =>
  ((await call('GET', `/v1/sessions/${sessionId}`)).body as { data: { headSeq: number } }).data
    .headSeq

t.test(
  'a session whose first event cannot be taken is listed all the same, also in its parent’s tree',
  async (t) => {
    await using api = await openTestApp()
    const { call, database } = api
    await call('POST', '/v1/sessions', { sessionId: 'root' })
    await database.pool.use((connection) =>
      connection.query(
        `insert into stemma.session (tenant, session_id, head, state, state_version, created_at)
           select 1, id, 0 + 1, '{"fence":0}', 1, now() from unnest(array['bad', 'odd', 'child']) id`,
      ),
    )
    await database.pool.use((connection) =>
      connection.query(
        `insert into stemma.event
           select sid, 1, 1, nextval('stemma.position'), 'evt_1', 'session.created', 1,
             case session_id when 'bad' then 'null'
               when 'odd' then '{"parent":{"sessionId":"a b"}}'
               else '{"title":5,"parent":{"sessionId":"root"}}' end::json, '{}', now(), now()
             from stemma.session where session_id <> 'root'`,
      ),
    )
    for (const when of ['in the tail', 'set aside']) {
      t.same(await idsOf(api, '/v1/sessions', 'sessionId'), ['child', 'odd', 'bad', 'root'], when)
      t.same(await idsOf(api, '/v1/sessions?search=x', 'sessionId'), [], when)
      t.equal((await call('GET', '/v1/sessions/bad')).status, 200, when)
      const tree = await database.pool.use(async (connection) =>
        readTree(connection, (await readSession(connection, { tenant: 1, sessionId: 'root' }))!),
      )
      t.same(
        tree.map(({ sessionId }) => sessionId),
        ['root', 'child'],
        when,
      )
      await project(api)
    }
    t.match(await stalledOf(api), [
      { session_id: 'bad', seq: 1 },
      { session_id: 'child', seq: 1 },
    ])
    t.equal(api.reported.length, 2)
  },
)

t.test(
  'when the cause is gone, the next append has the session caught up, in chunks, as if nothing had been',
  async (t) => {
    await using api = await openTestApp()
    const { pool } = api.database
    const run = (sql: string) => pool.use((connection) => connection.query(sql))
    const bad = await holdTurn(api, 'bad')
    const other = await holdTurn(api, 'other')
    await run(`alter table stemma.request add constraint no_bad check (request_id <> 'bad')`)
    for (const turn of [bad, other]) await turn.append([asked('good'), asked('bad'), asked('last')])
    await project(api)
    t.match(await stalledOf(api), [
      { session_id: 'bad', code: '23514', tries: 1 },
      { session_id: 'other', code: '23514', tries: 1 },
    ])
    const open = () => idsOf(api, '/v1/requests?status=open&sessionId=bad', 'requestId')
    t.same(await open(), ['last', 'bad', 'good'], 'what only the write cannot take is read')
    // Tried while nothing has changed, at growing distances.
    for (let n = 0; n < 3; n += 1) {
      await bad.append([stepStarted(`msg_${n}`), event('step.failed', failed(`msg_${n}`))])
      await project(api)
    }
    t.match(await stalledOf(api), [{ tries: 2 }, { tries: 1 }])
    t.equal(api.reported.length, 2)
    await run('alter table stemma.request drop constraint no_bad')
    await project(api)
    t.match(await stalledOf(api), [{ tries: 2 }, { tries: 1 }], 'not before it is appended to')
    await run(`update stemma.lists_stalled set tried_at = now() - interval '2 s'`)
    await bad.append([asked('more')])
    await project(api)
    t.match(await stalledOf(api), [{ session_id: 'other' }])
    t.same(await open(), ['more', 'last', 'bad', 'good'])
    await run('update stemma.lists_stalled set head = 0, tries = 0')
    await project(api)
    t.same(await stalledOf(api), [], 'or when an operator says so')
    await other.append([asked('more')])
    await project(api)
    const kept = await rows(api)
    t.equal(kept.length, 2 * (1 + 1 + 4), 'infos, turns, requests of both')
    await run(`with t as (delete from stemma.turn), r as (delete from stemma.request),
        w as (delete from stemma.waiting), i as (delete from stemma.session_info)
      update stemma.sessions_checkpoint set position = 0`)
    await project(api)
    t.same(await rows(api), kept)
    t.equal(api.reported.length, 2)
  },
)

const failed = (messageId: string) =>
  ({ messageId, error: { kind: 'provider', message: 'x' } }) as const

const rows = ({ database }: TestApp) =>
  database.pool.use((connection) =>
    connection.query(
      `select row_to_json(i)::text as row from stemma.session_info i
         union all select row_to_json(t)::text from stemma.turn t
         union all select row_to_json(r)::text from stemma.request r
         union all select row_to_json(w)::text from stemma.waiting w order by 1`,
    ),
  )

t.test(
  'whatever fails, comes and goes while several servers project, the lists end as what the log alone gives',
  async (t) => {
    await using api = await openTestApp()
    const { pool } = api.database
    const run = (sql: string) => pool.use((connection) => connection.query(sql))
    const random = seeded(7)
    for (let round = 0; round < 6; round += 1) {
      await run('alter table stemma.turn add constraint even check (held_seq % 2 = 0) not valid')
      await playLists(api.log, [`ses_${round}_a`, `ses_${round}_b`], {
        random,
        acts: 40,
        between: async () =>
          random() < 0.3 && (await Promise.all([1, 2, 3].map(() => projectSessions(pool)))),
      })
      // The last one stays.
      if (round < 5) await run('alter table stemma.turn drop constraint even')
      if (round % 2 === 0) await run('update stemma.lists_stalled set head = 0, tries = 0')
    }
    await project(api)
    const { length: aside } = await stalledOf(api)
    t.ok(aside >= 2, `${aside} are set aside`)
    const work = await idsOf(api, '/v1/work?limit=500', 'seq')
    const requests = await idsOf(api, '/v1/requests?limit=500', 'openedSeq')
    const listed = await idsOf(api, '/v1/sessions?order=updated&limit=500', 'sessionId')
    await run('alter table stemma.turn drop constraint even')
    await run('update stemma.lists_stalled set head = 0, tries = 0')
    await project(api)
    t.same(await stalledOf(api), [])
    t.same(await idsOf(api, '/v1/work?limit=500', 'seq'), work, 'as it was read meanwhile')
    t.same(await idsOf(api, '/v1/requests?limit=500', 'openedSeq'), requests)
    t.same(await idsOf(api, '/v1/sessions?order=updated&limit=500', 'sessionId'), listed)
    const kept = await rows(api)
    await run(`with t as (delete from stemma.turn), r as (delete from stemma.request),
        w as (delete from stemma.waiting), i as (delete from stemma.session_info)
      update stemma.sessions_checkpoint set position = 0`)
    await project(api)
    t.same(await rows(api), kept)
  },
)

t.test('a failure that is no event’s fault sets nobody aside, and is tried again', async (t) => {
  await using api = await openTestApp()
  const { pool } = api.database
  await holdTurn(api, 's')
  const run = (sql: string) => pool.use((connection) => connection.query(sql))
  await run('alter table stemma.turn rename to turn_away')
  await t.rejects(projectSessions(pool), { code: '42P01' })
  await run('alter table stemma.turn_away rename to turn')
  t.same(await stalledOf(api), [])
  await project(api)
  t.equal((await keptOf(api)).s, await headOf(api, 's'))
})

t.test('a session is tried so often, and no more', async (t) => {
  await using api = await openTestApp()
  const { pool } = api.database
  const turn = await holdTurn(api, 's')
  await insert(api, 's', 'input.delivered', null)
  await project(api)
  for (let n = 0; n < 25; n += 1) {
    await turn.append([asked(`req_${n}`)])
    await pool.use((connection) =>
      connection.query(`update stemma.lists_stalled set tried_at = now() - interval '1 year'`),
    )
    await project(api)
  }
  t.match(await stalledOf(api), [{ tries: 20 }])
  t.equal(api.reported.length, 1)
})
