import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { projectSessions } from '../projector/project-sessions.ts'

type Listed = { requestId: string; sessionId: string; status: string }
type Page = { data: Listed[]; cursor: { next: string | null }; asOf: string }

const hooks = ({ call, database }: TestApp) => {
  const post = async (url: string, body: object): Promise<never> =>
    (await call('POST', url, body)).body
  const page = async (query = ''): Promise<Page> => (await call('GET', `/v1/requests${query}`)).body
  return {
    post,
    page,
    list: async (query = ''): Promise<string[]> =>
      (await page(query)).data.map(({ requestId }) => requestId),
    project: async (): Promise<void> => {
      while (await projectSessions(database.pool));
    },
    /** A session with a turn. */
    session: async (sessionId: string, more = {}) => {
      await post('/v1/sessions', { sessionId, ...more })
      const owner = { ownerId: 'own_1', incarnation: 1 }
      await post(`/v1/sessions/${sessionId}/turns`, { turnId: `trn_${sessionId}`, ...owner })
    },
    open: (sessionId: string, requestId: string, more = {}) => {
      const asked = { kind: 'question', questions: [{ question: 'wh\u0000?', options: [] }] }
      return post(`/v1/sessions/${sessionId}/events`, {
        turnId: `trn_${sessionId}`,
        fence: 1,
        events: [{ type: 'request.opened', data: { requestId, ...asked, ...more } }],
      })
    },
    answer: (sessionId: string, requestId: string) =>
      post(`/v1/sessions/${sessionId}/requests/${requestId}/answer`, { answers: [['yes']] }),
    close: (sessionId: string, requestId: string) =>
      post(`/v1/sessions/${sessionId}/requests/${requestId}/close`, { reason: 'dismissed' }),
  }
}

const permission = {
  kind: 'permission',
  questions: undefined,
  permission: { action: 'run', resources: [] },
}

t.test(
  'requests are listed by each filter, newest first, wherever the projector stands',
  async (t) => {
    await using api = await openTestApp()
    const { session, open, answer, close, list, page, project } = hooks(api)
    await session('root', { project: 'p' })
    await session('child', { project: 'q', parent: { sessionId: 'root' } })
    await session('other', { project: 'p' })
    await session('gone')
    await open('root', 'r1')
    await open('child', 'r2', permission)
    await open('gone', 'r3')
    await open('other', 'r4')
    await open('other', 'r5')
    const check = async (what: string): Promise<void> => {
      t.same(await list(), ['r5', 'r4', 'r2', 'r1'], what)
      t.same(await list('?status=open'), ['r2', 'r1'])
      t.same(await list('?status=answered'), ['r4'])
      t.same(await list('?status=closed'), ['r5'])
      t.same(await list('?kind=permission'), ['r2'])
      t.same(await list('?project=p'), ['r5', 'r4', 'r1'])
      t.same(await list('?project=p&status=open'), ['r1'])
      t.same(await list('?sessionId=root'), ['r1'])
      t.same(await list('?sessionId=root&tree=false'), ['r1'])
      t.same(await list('?sessionId=root&tree=true'), ['r2', 'r1'])
      t.same(await list('?sessionId=root&tree=true&kind=question'), ['r1'])
    }
    await project()
    await answer('other', 'r4')
    await close('other', 'r5')
    await api.call('DELETE', '/v1/sessions/gone')
    await check('settled in the tail')
    await project()
    await check('all was projected')
    const { data } = await page()
    t.match(data[0], {
      status: 'closed',
      closed: { reason: 'dismissed' },
      openedSeq: 4,
      settledSeq: 6,
    })
    t.match(data[1], {
      sessionId: 'other',
      status: 'answered',
      questions: [{ question: 'wh\u0000?' }],
      answer: { answers: [['yes']], by: { subject: 'local' } },
    })
    t.match(data[2], { kind: 'permission', permission: { action: 'run' }, status: 'open' })
    const gone = await api.call('GET', '/v1/requests?sessionId=gone')
    t.match(gone, { status: 410, body: { code: 'session_deleted' } })
    t.same(api.reported, [])
  },
)

t.test('a walk over requests shows each once, while others are opened and answered', async (t) => {
  await using api = await openTestApp()
  const { session, open, answer, page, project } = hooks(api)
  await session('a')
  await session('b')
  const ids = Array.from({ length: 23 }, (_, n) => `r${n}`)
  for (const [n, id] of ids.entries()) {
    await open(n % 2 ? 'a' : 'b', id)
    if (n === 15) await project()
  }
  for (const limit of [1, 4, 23]) {
    const seen: string[] = []
    let cursor: string | null = null
    let step = 0
    do {
      const next: Page = await page(`?limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`)
      t.ok(next.data.length <= limit)
      seen.push(...next.data.map(({ requestId }) => requestId))
      cursor = next.cursor.next
      const id = ids[(step += 1)]!
      if (step < 5) await answer(Number(id.slice(1)) % 2 ? 'a' : 'b', id)
      if (step === 2) await project()
    } while (cursor !== null)
    t.same(seen, ids.toReversed(), `limit ${limit}`)
  }
})

t.test(
  'what a deleted session leaves out of a page is made up for, in order and once',
  async (t) => {
    await using api = await openTestApp()
    const { session, open, answer, list, project } = hooks(api)
    await session('s')
    await session('gone')
    for (const id of ['r1', 'r2', 'r3']) await open('s', id)
    for (let n = 0; n < 9; n += 1) await open('gone', `g${n}`)
    await open('s', 'r4')
    await project()
    await answer('s', 'r2')
    await api.call('DELETE', '/v1/sessions/gone')
    for (const what of ['in the tail', 'projected']) {
      t.same(await list('?limit=3'), ['r4', 'r3', 'r2'], what)
      t.same(await list('?limit=4'), ['r4', 'r3', 'r2', 'r1'])
      await project()
    }
  },
)
