import t from 'tap'
import { openTestApp, type Answer, type TestApp } from '../../test/harness/test-app.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { Refusal } from '../../schema/errors.ts'
import { projectSessions } from '../projector/project-sessions.ts'
import { forTree } from './for-tree.ts'

const create = (api: TestApp, sessionId: string, parent?: string): Promise<Answer> =>
  api.call('POST', '/v1/sessions', { sessionId, ...(parent && { parent: { sessionId: parent } }) })

/** root > a > (a1, a2 > deep), root > b; and one that is not of it. */
const plant = async (api: TestApp): Promise<void> => {
  for (const [sessionId, parent] of [
    ['root', undefined],
    ['a', 'root'],
    ['b', 'root'],
    ['a1', 'a'],
    ['a2', 'a'],
    ['deep', 'a2'],
    ['other', undefined],
  ] as const) {
    await create(api, sessionId, parent)
  }
}
const all = ['root', 'a', 'b', 'a1', 'a2', 'deep', 'other']

const statusOf = async ({ call }: TestApp, sessionId: string): Promise<number> =>
  (await call('GET', `/v1/sessions/${sessionId}`)).status

const gone = async (api: TestApp): Promise<string[]> => {
  const found: string[] = []
  for (const sessionId of all) if ((await statusOf(api, sessionId)) === 410) found.push(sessionId)
  return found
}

const listed = async ({ call }: TestApp, query = ''): Promise<string[]> => {
  const page = (await call('GET', `/v1/sessions${query}`)).body as {
    data: { sessionId: string }[]
  }
  return page.data.map(({ sessionId }) => sessionId).toSorted()
}

t.test('a session is created under a parent that is there, and under no other', async (t) => {
  await using api = await openTestApp()
  const dangling = await create(api, 'child', 'nobody')
  t.match(
    [dangling.status, dangling.body],
    [409, { code: 'dangling_reference', errors: [{ pointer: '/parent/sessionId' }] }],
  )
  const own = await create(api, 'own', 'own')
  t.match([own.status, own.body], [409, { code: 'dangling_reference' }], 'nor under itself')
  await create(api, 'parent')
  t.equal((await create(api, 'child', 'parent')).status, 201)
  const key = { 'idempotency-key': 'once' }
  const body = { sessionId: 'keyed', parent: { sessionId: 'parent' } }
  t.equal((await api.call('POST', '/v1/sessions', body, key)).status, 201)
  await api.call('DELETE', '/v1/sessions/parent')
  const late = await create(api, 'late', 'parent')
  t.match([late.status, late.body], [409, { code: 'wrong_state' }], 'nor under a deleted one')
  t.equal((await api.call('POST', '/v1/sessions', body, key)).status, 201, 'but repeated it is')
  const again = await create(api, 'child', 'parent')
  t.match([again.status, again.body], [409, { code: 'duplicate_id' }])
  t.same(await listed(api), ['child', 'keyed'])
  const imported = await api.call('POST', '/v1/imports', {
    origin: { system: 's', sessionId: 'imported' },
    events: [
      {
        eventId: 'e',
        type: 'session.created',
        data: { origin: { system: 's', sessionId: 'imported' }, parent: { sessionId: 'later' } },
      },
    ],
  })
  t.match(imported.body, { data: { added: 1 } }, 'an import may bring a child before its parent')
})

t.test('deleting a tree deletes the session and its descendants, and nothing else', async (t) => {
  await using api = await openTestApp()
  await plant(api)
  await projectSessions(api.database.pool)
  await api.call('POST', '/v1/sessions/deep/turns', {
    turnId: 'trn',
    ownerId: 'own',
    incarnation: 1,
  })
  const reply = await api.call('DELETE', '/v1/sessions/a?tree=true')
  t.match([reply.status, reply.headers['etag']], [204, '"2"'])
  t.same(await gone(api), ['a', 'a1', 'a2', 'deep'])
  await api.call('POST', '/v1/sessions/deep/restore')
  const { body } = await api.call('GET', '/v1/sessions/deep/turns/trn')
  t.match(body, { data: { status: 'ended', outcome: 'interrupted' } }, 'its turn was ended first')
  t.equal((await api.call('DELETE', '/v1/sessions/root?tree=false')).status, 204)
  t.same(await gone(api), ['root', 'a', 'a1', 'a2'], 'not of a tree, it is the session alone')
  t.same(api.reported, [])
})

t.test('what is left of a tree that is deleted already is deleted by a repetition', async (t) => {
  await using api = await openTestApp()
  await plant(api)
  for (const sessionId of ['root', 'a2']) await api.call('DELETE', `/v1/sessions/${sessionId}`)
  t.equal((await api.call('DELETE', '/v1/sessions/root?tree=true')).status, 204)
  t.same(await gone(api), ['root', 'a', 'b', 'a1', 'a2', 'deep'], 'below a deleted one, too')
  const nothing = await api.call('DELETE', '/v1/sessions/root?tree=true')
  t.match([nothing.status, nothing.body], [410, { code: 'session_deleted' }])
  const nobody = await api.call('DELETE', '/v1/sessions/nobody?tree=true')
  t.match([nobody.status, nobody.body], [404, { code: 'session_not_found' }])
})

t.test(
  'If-Match and Idempotency-Key of a tree concern its root, and a refused root changes nothing',
  async (t) => {
    await using api = await openTestApp()
    await plant(api)
    const at = '/v1/sessions/root?tree=true'
    const stale = await api.call('DELETE', at, undefined, { 'if-match': '"7"' })
    t.match([stale.status, stale.body], [412, { code: 'precondition_failed', headSeq: 1 }])
    t.same(await gone(api), [])
    const headers = { 'if-match': '"1"', 'idempotency-key': 'k' }
    t.equal((await api.call('DELETE', at, undefined, headers)).status, 204)
    await api.call('POST', '/v1/sessions/b/restore')
    t.equal((await api.call('DELETE', at, undefined, headers)).status, 204, 'it goes on below')
    t.same(await gone(api), ['root', 'a', 'b', 'a1', 'a2', 'deep'])
    t.equal((await api.call('DELETE', at, undefined, headers)).status, 204, 'and is answered again')
    const other = await api.call('DELETE', '/v1/sessions/root', undefined, headers)
    t.match(
      [other.status, other.body],
      [422, { code: 'key_reused' }],
      'alone it is another request',
    )
  },
)

t.test('a tree is archived and comes back, whatever of it was archived before', async (t) => {
  await using api = await openTestApp()
  await plant(api)
  await api.call('POST', '/v1/sessions/a2/archive')
  await api.call('DELETE', '/v1/sessions/b')
  const reply = await api.call('POST', '/v1/sessions/root/archive?tree=true')
  t.match([reply.status, reply.body], [200, { data: { sessionId: 'root', archived: true } }])
  t.same(await listed(api), ['other'])
  t.same(await listed(api, '?status=archived'), ['a', 'a1', 'a2', 'deep', 'root'])
  const twice = await api.call('POST', '/v1/sessions/root/archive?tree=true')
  t.match([twice.status, twice.body], [409, { code: 'wrong_state' }])
  await api.call('POST', '/v1/sessions/deep/unarchive')
  t.equal((await api.call('POST', '/v1/sessions/root/archive?tree=true')).status, 200)
  t.same(await listed(api), ['other'])
  t.equal((await api.call('POST', '/v1/sessions/root/unarchive?tree=true')).status, 200)
  t.same(await listed(api), ['a', 'a1', 'a2', 'deep', 'other', 'root'])
  t.match((await api.call('GET', '/v1/sessions/a1')).body, { data: { headSeq: 3 } }, 'once each')
  await api.call('DELETE', '/v1/sessions/a')
  const deleted = await api.call('POST', '/v1/sessions/a/archive?tree=true')
  t.match([deleted.status, deleted.body], [410, { code: 'session_deleted' }])
  t.same(await listed(api), ['a1', 'a2', 'deep', 'other', 'root'])
})

t.test(
  'a member that refuses holds up none of the others, and children that come meanwhile are found',
  async (t) => {
    await using api = await openTestApp()
    await plant(api)
    const { log } = api
    const done: string[] = []
    const { pool } = api.database
    const target = { tenant: 1, sessionId: 'root' }
    await forTree({ pool }, target, {
      on: async ({ sessionId }, isRoot) => {
        t.equal(isRoot, sessionId === 'root')
        done.push(sessionId)
        if (sessionId !== 'deep') return
        const data = { parent: { sessionId: 'b' } }
        const born = event('session.created', data)
        await log.execute({ tenant: 1, sessionId: 'born', kind: 'create', event: born })
      },
      already: [],
    })
    t.equal(done[0], 'root')
    t.same(done.toSorted(), ['a', 'a1', 'a2', 'b', 'born', 'deep', 'root'])

    const after: string[] = []
    const refused = forTree({ pool }, target, {
      on: async ({ sessionId }) => {
        if (sessionId === 'a') throw new Refusal('overloaded', 'not now')
        if (sessionId === 'b') throw new Refusal('no_turn', 'nothing to do')
        after.push(sessionId)
      },
      already: ['no_turn'],
    })
    await t.rejects(refused, { code: 'overloaded', members: { sessionId: 'a' } })
    t.same(after.toSorted(), ['a1', 'a2', 'born', 'deep', 'root'])
  },
)
