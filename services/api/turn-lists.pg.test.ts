import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { projectSessions } from '../projector/project-sessions.ts'
import { readInterrupted } from '../deadlines/read-due.ts'

/** What lists of sessions, turns and work have in common here; one thing alone is matched as it is. */
type Seen = {
  readonly sessionId: string
  readonly turnId: string
  readonly fromFence: number
  readonly status: string
  readonly ownerAlive?: boolean
}

const hooks = ({ call, database }: TestApp) => {
  const post = async (url: string, body: object): Promise<{ code?: string; data: never }> =>
    (await call('POST', url, body)).body
  const get = async (url: string): Promise<{ data: Seen[]; cursor: { next: string | null } }> =>
    (await call('GET', url)).body
  return {
    post,
    get,
    project: async (): Promise<void> => {
      while (await projectSessions(database.pool));
    },
    start: async (sessionId: string, turnId: string, ownerId: string) => {
      await post('/v1/sessions', { sessionId })
      return post(`/v1/sessions/${sessionId}/turns`, { turnId, ownerId, incarnation: 1 })
    },
    end: (sessionId: string, turnId: string, fence: number) =>
      post(`/v1/sessions/${sessionId}/events`, {
        turnId,
        fence,
        events: [{ type: 'turn.ended', data: { turnId, outcome: 'completed', fence } }],
      }),
    register: (ownerId: string, lifetime = 'process', more = {}) =>
      post('/v1/owners', { ownerId, lifetime, ...more }),
    leave: (ownerId: string) => call('DELETE', `/v1/owners/${ownerId}`, { incarnation: 1 }),
  }
}

t.test('a turn says who took it over, that it was released and who wants it to stop', async (t) => {
  await using api = await openTestApp()
  const { start, end, post, get, project } = hooks(api)
  await start('s', 'trn_1', 'own_1')
  const at = '/v1/sessions/s/turns/trn_1'
  const steps: readonly [() => Promise<unknown>, object][] = [
    [async () => {}, { status: 'active', ownerAlive: true, claims: [], released: undefined }],
    [
      () => post(`${at}/release`, { fence: 1 }),
      { ownerId: 'own_1', fence: 2, released: true, ownerAlive: false },
    ],
    [
      () => post(`${at}/claim`, { ownerId: 'own_2', incarnation: 1, fromFence: 2 }),
      {
        ownerId: 'own_2',
        fence: 3,
        ownerAlive: true,
        released: undefined,
        claims: [{ ownerId: 'own_2', fromOwnerId: 'own_1', fromFence: 2, fence: 3, seq: 4 }],
      },
    ],
    [
      () => post(`${at}/interrupt`, { reason: 'enough', graceMs: 60_000 }),
      {
        status: 'active',
        interrupt: { reason: 'enough', by: { subject: 'local' }, requestedSeq: 5, dueAt: /Z$/ },
      },
    ],
    [
      () => end('s', 'trn_1', 3),
      {
        status: 'ended',
        outcome: 'completed',
        endedSeq: 6,
        ownerAlive: undefined,
        claims: [{ fence: 3 }],
        interrupt: { reason: 'enough', requestedSeq: 5 },
      },
    ],
  ]
  for (const [act, expected] of steps) {
    await act()
    t.match((await get(at)).data, expected)
    t.match((await get('/v1/sessions/s/turns')).data, [expected])
    await project()
    t.match((await get(at)).data, expected, 'and when it was projected')
    t.match((await get('/v1/sessions/s/turns')).data, [expected])
  }
})

t.test("a walk over a session's turns shows each once, in both orders", async (t) => {
  await using api = await openTestApp()
  const { start, end, get, project } = hooks(api)
  const ids = Array.from({ length: 9 }, (_, n) => `trn_${n}`)
  for (const [n, turnId] of ids.entries()) {
    await start('s', turnId, 'own_1')
    if (n === 5) await project()
    if (n < 8) await end('s', turnId, n + 1)
  }
  for (const order of ['asc', 'desc']) {
    for (const limit of [1, 4, 9]) {
      const seen: string[] = []
      let more = ''
      do {
        const url = `/v1/sessions/s/turns?order=${order}&limit=${limit}${more}`
        const { data, cursor } = await get(url)
        t.ok(data.length <= limit)
        seen.push(...data.map(({ turnId }) => turnId))
        more = cursor.next === null ? '' : `&cursor=${cursor.next}`
      } while (more !== '')
      t.same(seen, order === 'asc' ? ids : ids.toReversed(), `${order} ${limit}`)
    }
  }
  const { data } = await get('/v1/sessions/s/turns')
  t.same(
    data.map(({ status }) => status),
    [...Array.from({ length: 8 }, () => 'ended'), 'active'],
    'what ended in the tail has ended',
  )
})

t.test(
  "an owner's turns are those that it holds now, by whatever incarnation, wherever the projector stands",
  async (t) => {
    await using api = await openTestApp()
    const { start, end, post, get, register, project } = hooks(api)
    await register('own_x')
    for (const id of ['a', 'b', 'c', 'd', 'e']) await start(id, `trn_${id}`, 'own_x')
    await project()
    await end('a', 'trn_a', 1)
    await post('/v1/sessions/b/turns/trn_b/release', { fence: 1 })
    await post('/v1/sessions/b/turns/trn_b/claim', {
      ownerId: 'own_1',
      incarnation: 1,
      fromFence: 2,
    })
    await post('/v1/sessions/c/turns/trn_c/release', { fence: 1 })
    await register('own_x')
    await start('f', 'trn_old', 'own_x')
    await post('/v1/sessions/f/turns', { turnId: 'trn_f', ownerId: 'own_x', incarnation: 2 })
    const expected = [
      { sessionId: 'c', turnId: 'trn_c', fence: 2, released: true, current: false },
      {
        sessionId: 'd',
        turnId: 'trn_d',
        fence: 1,
        incarnation: 1,
        current: false,
        ownerAlive: false,
      },
      { sessionId: 'e', current: false },
      { sessionId: 'f', turnId: 'trn_f', incarnation: 2, current: true, ownerAlive: true },
    ]
    for (const what of ['the tail lies over', 'all was projected']) {
      const all = await get('/v1/owners/own_x/turns')
      t.equal(all.data.length, 4)
      t.match(all.data, expected, what)
      const seen: object[] = []
      let more = ''
      do {
        const url = `/v1/owners/own_x/turns?limit=1${more}`
        const { data, cursor } = await get(url)
        seen.push(...data)
        more = cursor.next === null ? '' : `&cursor=${cursor.next}`
      } while (more !== '')
      t.same(seen, all.data)
      await project()
    }
    const none = await api.call('GET', '/v1/owners/own_no/turns')
    t.match(none, { status: 404, body: { code: 'owner_not_found' } })
  },
)

t.test(
  'the turns of an owner that has exited are failed, of whatever number and wherever the projector stands',
  async (t) => {
    await using api = await openTestApp()
    const { start, post, register, project } = hooks(api)
    await register('own_x')
    await register('own_y')
    const ids = Array.from({ length: 20 }, (_, n) => `s${n}`)
    for (const [n, id] of ids.entries()) {
      await start(id, `trn_${id}`, n === 7 ? 'own_y' : 'own_x')
      if (n === 10) await project()
    }
    const exit = { incarnation: 1, reason: 'crashed', fail: true }
    const { failed } = (await post('/v1/owners/own_x/exited', exit)) as unknown as {
      failed: { sessionId: string }[]
    }
    t.same(
      failed.map(({ sessionId }) => sessionId).toSorted(),
      ids.filter((id) => id !== 's7').toSorted(),
    )
    t.same(((await post('/v1/owners/own_x/exited', exit)) as unknown as { failed: [] }).failed, [])
  },
)

t.test('a session whose owner is gone does not run for ever: readers are told', async (t) => {
  await using api = await openTestApp()
  const { start, get, register, leave, project } = hooks(api)
  await register('own_x', 'lease', { ttlMs: 300 })
  await register('own_y')
  await start('lapses', 'trn_1', 'own_x')
  await start('leaves', 'trn_2', 'own_y')
  await start('runs', 'trn_3', 'own_1')
  const alive = async () =>
    Object.fromEntries(
      (await get('/v1/sessions')).data.map(({ sessionId, ownerAlive }) => [sessionId, ownerAlive]),
    )
  await leave('own_y')
  await sleep(500)
  for (const what of ['in the tail', 'projected']) {
    t.same(await alive(), { runs: true, leaves: false, lapses: false }, what)
    t.match((await get('/v1/sessions/lapses')).data, { status: 'running', ownerAlive: false })
    await project()
  }
  await api.call('POST', '/v1/sessions', { sessionId: 'idle' })
  t.equal((await alive())['idle'], undefined)
})

t.test(
  'an interruption is due when its grace is over, or when nobody holds the turn any more',
  async (t) => {
    await using api = await openTestApp()
    const { start, end, post, register, leave, project } = hooks(api)
    await register('own_x')
    const graces: Readonly<Record<string, object | undefined>> = {
      soon: { graceMs: 200 },
      late: { graceMs: 60_000 },
      open: {},
      ended: { graceMs: 100 },
      lost: {},
      released: { graceMs: 60_000 },
      never: undefined,
    }
    for (const [id, grace] of Object.entries(graces)) {
      await start(id, `trn_${id}`, id === 'lost' ? 'own_x' : 'own_1')
      if (!grace) continue
      await post(`/v1/sessions/${id}/turns/trn_${id}/interrupt`, { reason: 'enough', ...grace })
    }
    await end('ended', 'trn_ended', 1)
    await post('/v1/sessions/released/turns/trn_released/release', { fence: 1 })
    await project()
    const due = async () =>
      (await api.database.pool.use((connection) => readInterrupted(connection, 0))).due
        .map(({ sessionId }) => sessionId)
        .toSorted()
    await sleep(300)
    t.same(await due(), ['released', 'soon'])
    await leave('own_x')
    t.same(await due(), ['lost', 'released', 'soon'])
  },
)

t.test(
  'case 5: who acts on a list of orphaned turns that is old by now finds nothing to claim',
  async (t) => {
    await using api = await openTestApp()
    const { start, end, post, get, register, leave } = hooks(api)
    await register('own_x')
    await start('claimed', 'trn_1', 'own_x')
    await start('ended', 'trn_2', 'own_x')
    await leave('own_x')
    const orphaned = (await get('/v1/work')).data
    t.equal(orphaned.length, 2, 'C lists')
    const claim = (item: Seen, ownerId: string) =>
      post(`/v1/sessions/${item.sessionId}/turns/${item.turnId}/claim`, {
        ownerId,
        incarnation: 1,
        fromFence: item.fromFence,
      })
    for (const item of orphaned) t.match(await claim(item, 'own_2'), { data: { fence: 2 } })
    // B gives up one that it has worked on, and ends the other.
    await post('/v1/sessions/claimed/turns/trn_1/release', { fence: 2 })
    await end('ended', 'trn_2', 2)
    t.match(await claim(orphaned[0]!, 'own_1'), { code: 'fenced', fence: 3 })
    t.match(await claim(orphaned[1]!, 'own_1'), { code: 'turn_settled' })
    const now = (await get('/v1/work')).data
    t.match(now, [{ sessionId: 'claimed', fromFence: 3 }])
    t.match(await claim(now[0]!, 'own_1'), { data: { fence: 4 } }, 'by a list of now it may')
  },
)

t.test(
  "case 6: a live owner's turn is in no list of work, also when it sweeps itself",
  async (t) => {
    await using api = await openTestApp()
    const { start, post, get, register, project } = hooks(api)
    await register('own_x', 'lease', { ttlMs: 60_000 })
    await start('s', 'trn_1', 'own_x')
    for (const what of ['in the tail', 'projected']) {
      t.same((await get('/v1/work')).data, [], what)
      t.match((await get('/v1/owners/own_x/turns')).data, [{ current: true, ownerAlive: true }])
      await project()
    }
    const claim = { ownerId: 'own_x', incarnation: 1, fromFence: 1 }
    t.match(await post('/v1/sessions/s/turns/trn_1/claim', claim), { code: 'owner_alive' })
    t.match((await get('/v1/sessions/s/turns/trn_1')).data, { status: 'active', fence: 1 })
  },
)
