import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { event } from '../../test/harness/rehearsal.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { projectSessions } from '../projector/project-sessions.ts'

type Item = {
  kind: string
  sessionId: string
  seq: number
  messageId?: string
  requestId?: string
  turnId?: string
  fromFence?: number
}
type Page = { data: Item[]; cursor: { next: string } }

const hooks = ({ call, database, log }: TestApp) => {
  const post = async (url: string, body: object): Promise<{ code?: string }> =>
    (await call('POST', url, body)).body
  const page = async (query = ''): Promise<Page> => (await call('GET', `/v1/work${query}`)).body
  return {
    post,
    page,
    /** Short words for what is work. */
    work: async (query = ''): Promise<string[]> => (await page(query)).data.map(wordsOf),
    project: async (): Promise<void> => {
      while (await projectSessions(database.pool));
    },
    session: (sessionId: string, more = {}) => post('/v1/sessions', { sessionId, ...more }),
    input: (sessionId: string, messageId: string, more = {}) =>
      post(`/v1/sessions/${sessionId}/inputs`, { messageId, text: 'x', ...more }),
    start: (sessionId: string, turnId: string, ownerId: string, more = {}) =>
      post(`/v1/sessions/${sessionId}/turns`, { turnId, ownerId, incarnation: 1, ...more }),
    end: (sessionId: string, turnId: string, fence: number) =>
      post(`/v1/sessions/${sessionId}/events`, {
        turnId,
        fence,
        events: [{ type: 'turn.ended', data: { turnId, outcome: 'completed', fence } }],
      }),
    register: (ownerId: string, body: object) => post('/v1/owners', { ownerId, ...body }),
    /** A session of a source whose request belonged to no turn, and its answer. */
    answered: async (sessionId: string, requestId: string) => {
      const origin = { system: 'other', sessionId }
      const questions = [{ question: '?', options: [] }]
      await log.execute({
        tenant: 1,
        sessionId,
        kind: 'import',
        origin,
        events: [
          event('session.created', { origin }),
          event('request.opened', { requestId, kind: 'question', questions }),
        ],
      })
      await post(`/v1/sessions/${sessionId}/requests/${requestId}/answer`, { answers: [null] })
    },
  }
}

const lapses = async ({ call }: TestApp, ownerId: string): Promise<void> => {
  const status = async (): Promise<string> =>
    ((await call('GET', `/v1/owners/${ownerId}`)).body as { data: { status: string } }).data.status
  while ((await status()) !== 'lapsed') await sleep(50)
}

const wordsOf = (item: Item): string =>
  [
    item.kind,
    item.sessionId,
    item.messageId ?? item.requestId ?? `${item.turnId}@${item.fromFence}`,
  ].join(' ')

t.test(
  'work is what waits where no turn is active, and turns that may be claimed, wherever the projector stands',
  async (t) => {
    await using api = await openTestApp()
    const { session, input, start, end, register, answered, work, project, post } = hooks(api)
    await register('own_lease', { lifetime: 'lease', ttlMs: 1_500 })
    await register('own_left', { lifetime: 'lease', ttlMs: 60_000 })
    await register('own_again', { lifetime: 'process' })
    for (const id of ['idle', 'waits', 'runs', 'lapses', 'leaves', 'again', 'gives', 'gone']) {
      await session(id)
    }
    for (const id of ['waits', 'runs', 'lapses', 'gone']) await input(id, `msg_${id}`)
    await input('waits', 'msg_steer', { delivery: 'steer' })
    await input('waits', 'msg_shell', { kind: 'shell' })
    await answered('asked', 'req_1')
    await start('runs', 'trn_runs', 'own_1')
    await start('lapses', 'trn_lapses', 'own_lease')
    await start('leaves', 'trn_leaves', 'own_left')
    await start('again', 'trn_again', 'own_again')
    await start('gives', 'trn_gives', 'own_1')
    await api.call('DELETE', '/v1/sessions/gone')
    const waiting = [
      'input waits msg_waits',
      'input waits msg_steer',
      'input waits msg_shell',
      'answer asked req_1',
    ]
    await api.call('PUT', '/v1/owners/own_lease/heartbeat', { incarnation: 1 })
    t.same(await work(), waiting, 'what a live owner has is its own')
    await api.call('DELETE', '/v1/owners/own_left', { incarnation: 1 })
    await register('own_again', { lifetime: 'process' })
    await post('/v1/sessions/gives/turns/trn_gives/release', { fence: 1 })
    await lapses(api, 'own_lease')
    const all = [
      ...waiting.slice(0, 3),
      'turn lapses trn_lapses@1',
      'turn leaves trn_leaves@1',
      'turn again trn_again@1',
      'turn gives trn_gives@2',
      ...waiting.slice(3),
    ]
    t.same(await work(), all, 'nothing was projected')
    await project()
    t.same(await work(), all, 'all was projected')
    await end('runs', 'trn_runs', 1)
    await api.call('DELETE', '/v1/sessions/waits/inputs/msg_steer')
    await start('asked', 'trn_asked', 'own_1', { resumes: ['req_1'] })
    await post('/v1/sessions/gives/turns/trn_gives/claim', {
      ownerId: 'own_2',
      incarnation: 1,
      fromFence: 2,
    })
    await api.call('PUT', '/v1/owners/own_lease/heartbeat', { incarnation: 1 })
    await api.call('POST', '/v1/sessions/gone/restore', {})
    const left = [
      'input waits msg_waits',
      'input waits msg_shell',
      'input runs msg_runs',
      'turn leaves trn_leaves@1',
      'turn again trn_again@1',
      'input gone msg_gone',
    ]
    t.same(await work(), left, 'the tail lies over what was projected')
    await api.call('PUT', '/v1/owners/own_lease/heartbeat', { incarnation: 1 })
    await project()
    await api.call('PUT', '/v1/owners/own_lease/heartbeat', { incarnation: 1 })
    t.same(await work(), left)
    t.same(api.reported, [])
  },
)

t.test('work is filtered by project and host; where no host is named, any may do it', async (t) => {
  await using api = await openTestApp()
  const { session, input, work, project } = hooks(api)
  await session('a', { project: 'p', location: { host: 'h', directory: '/' } })
  await session('b', { project: 'q', location: { host: 'g', directory: '/' } })
  await session('c', { project: 'p' })
  for (const id of ['a', 'b', 'c']) await input(id, `msg_${id}`)
  for (const projected of [false, true]) {
    if (projected) await project()
    t.same(await work('?project=p'), ['input a msg_a', 'input c msg_c'])
    t.same(await work('?host=h'), ['input a msg_a', 'input c msg_c'])
    t.same(await work('?host=g&project=q'), ['input b msg_b'])
    t.same(await work('?host=g&project=p'), ['input c msg_c'])
    t.same(await work('?project=none'), [])
  }
})

t.test(
  'a walk over the work gives each once, and goes on with what became work since',
  async (t) => {
    await using api = await openTestApp()
    const { session, input, page, project } = hooks(api)
    const expected: string[] = []
    for (let n = 0; n < 7; n += 1) {
      await session(`s${n}`)
      for (let m = 0; m <= n % 3; m += 1) {
        await input(`s${n}`, `msg_${n}_${m}`)
        expected.push(`input s${n} msg_${n}_${m}`)
      }
      if (n === 3) await project()
    }
    for (const limit of [1, 2, 5]) {
      const seen: string[] = []
      let after = ''
      for (;;) {
        const { data, cursor } = await page(`?limit=${limit}${after}`)
        if (data.length === 0) break
        t.ok(data.length <= limit)
        seen.push(...data.map(wordsOf))
        after = `&after=${cursor.next}`
      }
      t.same(seen, expected, `limit ${limit}`)
      await input('s0', `msg_new_${limit}`)
      const news = await page(`?limit=${limit}${after}`)
      t.same(news.data.map(wordsOf), [`input s0 msg_new_${limit}`])
      expected.splice(1 + [1, 2, 5].indexOf(limit), 0, `input s0 msg_new_${limit}`)
      if (limit === 1) await project()
    }
  },
)

t.test('who follows hears of all that becomes work, each once', async (t) => {
  await using api = await openTestApp()
  const { session, input, start, end, register, answered, page, post, project } = hooks(api)
  await register('own_lease', { lifetime: 'lease', ttlMs: 400 })
  await register('own_left', { lifetime: 'lease', ttlMs: 60_000 })
  await session('s')
  let { cursor } = await page()
  const next = async (): Promise<string[]> => {
    const heard = await page(`?waitMs=5000&after=${cursor.next}`)
    cursor = heard.cursor
    return heard.data.map(wordsOf)
  }
  const nothing = async (what: string): Promise<void> => {
    const heard = await page(`?after=${cursor.next}`)
    t.same(heard.data, [], what)
  }
  /** While somebody waits for it. */
  const becomes = async (act: () => Promise<unknown>, expected: string[]): Promise<void> => {
    const heard = next()
    await sleep(100)
    await act()
    t.same(await heard, expected)
    await nothing(`after ${expected.join()}`)
  }
  await becomes(() => input('s', 'msg_1'), ['input s msg_1'])
  await project()
  await nothing('projected')
  await start('s', 'trn_1', 'own_1', { inputs: ['msg_1'] })
  await input('s', 'msg_2')
  await nothing("the running owner's")
  await becomes(() => end('s', 'trn_1', 1), ['input s msg_2'])
  await becomes(() => answered('asked', 'req_1'), ['answer asked req_1'])
  await start('s', 'trn_2', 'own_1')
  await becomes(() => post('/v1/sessions/s/turns/trn_2/release', { fence: 2 }), ['turn s trn_2@3'])
  await post('/v1/sessions/s/turns/trn_2/claim', {
    ownerId: 'own_left',
    incarnation: 1,
    fromFence: 3,
  })
  await nothing('claimed')
  const leave = () => api.call('DELETE', '/v1/owners/own_left', { incarnation: 1 })
  await becomes(leave, ['turn s trn_2@4'])
  await register('own_left', { lifetime: 'process' })
  t.same(await next(), ['turn s trn_2@4'], 'superseded beside: it is said again')
  await session('l')
  await api.call('PUT', '/v1/owners/own_lease/heartbeat', { incarnation: 1 })
  await start('l', 'trn_l', 'own_lease')
  t.same(await next(), ['turn l trn_l@1'], 'a lease lapses without an event')
  await nothing('lapsed before')
  await api.call('PUT', '/v1/owners/own_lease/heartbeat', { incarnation: 1 })
  t.same(await next(), ['turn l trn_l@1'], 'and again, after a heartbeat')
  await nothing('twice')
  const waited = await page(`?waitMs=300&after=${cursor.next}`)
  t.same(waited.data, [], 'the time is over')
})

t.test(
  'a cursor of other filters is refused, and one that waits ends with the server',
  async (t) => {
    const api = await openTestApp()
    const { page } = hooks(api)
    const { cursor } = await page()
    t.match(await api.call('GET', `/v1/work?project=p&after=${cursor.next}`), {
      status: 400,
      body: { code: 'invalid_cursor' },
    })
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const url = `${api.app.listeningOrigin}/v1/work?waitMs=30000&after=${cursor.next}`
    const reply = fetch(url)
    await sleep(300)
    await api[Symbol.asyncDispose]()
    t.equal((await reply).status, 200)
  },
)

t.test(
  'of many owners that are gone the cursor names the latest, and knows the others by the time',
  async (t) => {
    await using api = await openTestApp()
    const { session, start, register, page } = hooks(api)
    for (let n = 0; n < 80; n += 1) {
      await register(`own_x${n}`, { lifetime: 'process' })
      await session(`s${n}`)
      await start(`s${n}`, `trn_${n}`, `own_x${n}`)
      if (n < 79) await api.call('DELETE', `/v1/owners/own_x${n}`, { incarnation: 1 })
    }
    const first = await page('?limit=500')
    t.equal(first.data.length, 79)
    const after = `?after=${first.cursor.next}`
    t.same((await page(after)).data, [])
    await api.call('DELETE', '/v1/owners/own_x79', { incarnation: 1 })
    t.same((await page(after)).data.map(wordsOf), ['turn s79 trn_79@1'])
  },
)

t.test(
  'a copy that only its source has written to is the source’s work, and anybody’s when it is written to here',
  async (t) => {
    await using api = await openTestApp()
    const { work, input, project, end } = hooks(api)
    const origin = { system: 'other', sessionId: 's', live: true }
    const started = { turnId: 'trn', ownerId: 'theirs', fence: 1, inputs: [] }
    await api.log.execute({
      tenant: 1,
      sessionId: 's',
      kind: 'import',
      origin,
      events: [event('session.created', { origin }), event('turn.started', started)],
    })
    for (const what of ['in the tail', 'projected']) {
      t.same(await work(), [], what)
      await project()
    }
    await input('s', 'msg')
    t.same(await work(), ['turn s trn@1'], 'its turn has no owner here')
    await api.call('POST', '/v1/sessions/s/turns/trn/claim', {
      ownerId: 'own_1',
      incarnation: 1,
      fromFence: 1,
    })
    t.same(await work(), [])
    await end('s', 'trn', 2)
    t.same(await work(), ['input s msg'])
  },
)
