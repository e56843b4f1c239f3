import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

type Session = { sessionId: string; headSeq: number; title?: string; metadata?: object }
type Page = { data: Session[]; cursor: { next: string | null } }

const metadataOf = async ({ call }: TestApp): Promise<unknown> =>
  ((await call('GET', '/v1/sessions/s')).body as { data: Session }).data.metadata

t.test('a created session is given back with what it was created with', async (t) => {
  await using api = await openTestApp()
  await api.call('POST', '/v1/sessions', { sessionId: 'ses_parent' })
  const given = {
    sessionId: 'ses_child',
    title: 'Title',
    agent: 'build',
    model: { modelId: 'm', providerId: 'p', variant: 'v' },
    location: { host: 'h', directory: '/d' },
    project: 'pro',
    parent: { sessionId: 'ses_parent', messageId: 'msg', callId: 'c', turnId: 't' },
    metadata: { a: [1, { b: null }], näme: '\u0000' },
  }
  const created = await api.call('POST', '/v1/sessions', given)
  t.equal(created.status, 201)
  t.equal(created.headers['location'], '/v1/sessions/ses_child')
  t.match(created.body, { data: { ...given, headSeq: 1, status: 'idle', openRequests: [] } })
  t.same((await api.call('GET', '/v1/sessions/ses_child')).body, created.body)
  const taken = await api.call('POST', '/v1/sessions', given)
  t.match([taken.status, taken.body], [409, { code: 'duplicate_id' }])
  t.match((await api.call('POST', '/v1/sessions')).body, { data: { sessionId: /^ses_/ } })
})

t.test(
  'a merge patch of metadata does what RFC 7396 says, in one append with the title',
  async (t) => {
    await using api = await openTestApp()
    await api.call('POST', '/v1/sessions', {
      sessionId: 's',
      metadata: { a: { b: 1, c: 2 }, d: 3 },
    })
    const patched = await api.call('PATCH', '/v1/sessions/s', {
      title: 'New',
      metadata: { a: { b: null, e: 4 }, d: null, f: [null] },
    })
    t.match(patched.body, { data: { title: 'New', headSeq: 3 } })
    t.strictSame(await metadataOf(api), { a: { c: 2, e: 4 }, f: [null] })
    await api.call('PATCH', '/v1/sessions/s', { metadata: { a: 'text' } })
    t.strictSame(await metadataOf(api), { a: 'text', f: [null] })
    await api.call('PATCH', '/v1/sessions/s', { metadata: null, title: null })
    t.strictSame(await metadataOf(api), {})
    const same = await api.call('PATCH', '/v1/sessions/s', {})
    t.match([same.status, same.headers['etag']], [200, '"6"'], 'an empty patch appends nothing')
    const media = { 'content-type': 'application/merge-patch+json' }
    t.equal((await api.call('PATCH', '/v1/sessions/s', { title: 'x' }, media)).status, 200)
    const elsewhere = await api.call('POST', '/v1/sessions', {}, media)
    t.match([elsewhere.status, elsewhere.body], [415, { code: 'unsupported_media_type' }])
  },
)

t.test('patches of different members at the same time are all there afterwards', async (t) => {
  await using api = await openTestApp()
  await using other = await openTestApp({ database: api.database })
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      (n % 2 ? api : other).call('PATCH', '/v1/sessions/s', {
        metadata: { shared: { [`k${n}`]: n } },
      }),
    ),
  )
  t.same(
    replies.map(({ status }) => status),
    [200, 200, 200, 200, 200, 200],
  )
  t.same(await metadataOf(api), { shared: { k0: 0, k1: 1, k2: 2, k3: 3, k4: 4, k5: 5 } })
})

t.test(
  'a deleted session is 410 everywhere until it is restored, and listed nowhere',
  async (t) => {
    await using api = await openTestApp()
    await api.call('POST', '/v1/sessions', { sessionId: 's', title: 'kept' })
    t.equal((await api.call('DELETE', '/v1/sessions/s')).status, 204)
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { title: 'x' }],
      ['PATCH', '', {}],
      ['DELETE', '', undefined],
      ['GET', '/events', undefined],
      ['GET', '/messages', undefined],
      ['GET', '/messages/m', undefined],
      ['GET', '/context', undefined],
      ['GET', '/inputs', undefined],
      ['GET', '/turns/t', undefined],
      ['POST', '/inputs', { text: 'x' }],
      ['POST', '/turns', { ownerId: 'o', incarnation: 1 }],
      ['POST', '/archive', undefined],
      ['POST', '/events', { events: [{ type: 'session.viewed', data: {} }] }],
    ] as const) {
      const reply = await api.call(method, `/v1/sessions/s${path}`, body)
      t.match([reply.status, reply.body], [410, { code: 'session_deleted' }], `${method} ${path}`)
    }
    t.match((await api.call('GET', '/v1/sessions')).body, { data: [] })
    t.match((await api.call('POST', '/v1/sessions/s/restore')).body, { data: { title: 'kept' } })
    t.match((await api.call('GET', '/v1/sessions')).body, { data: [{ sessionId: 's' }] })
  },
)

t.test('an archived session leaves the list, and comes back', async (t) => {
  await using api = await openTestApp()
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  const ids = async (query: string) =>
    ((await api.call('GET', `/v1/sessions${query}`)).body as Page).data.map((s) => s.sessionId)
  await api.call('POST', '/v1/sessions/s/archive', {})
  t.same([await ids(''), await ids('?status=archived')], [[], ['s']])
  const twice = await api.call('POST', '/v1/sessions/s/archive')
  t.match([twice.status, twice.body], [409, { code: 'wrong_state' }])
  await api.call('POST', '/v1/sessions/s/unarchive')
  t.same([await ids(''), await ids('?status=archived')], [['s'], []])
})

t.test('the list is walked by cursors that fit no other list', async (t) => {
  await using api = await openTestApp()
  for (let n = 0; n < 7; n += 1) {
    const project = n % 2 ? 'odd' : 'even'
    await api.call('POST', '/v1/sessions', { sessionId: `s${n}`, title: `Title ${n}`, project })
  }
  const walk = async (filters: string): Promise<string[]> => {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`
      const page = (await api.call('GET', `/v1/sessions?limit=2${filters}${more}`)).body as Page
      seen.push(...page.data.map((s) => s.sessionId))
      cursor = page.cursor.next
    }
    return seen
  }
  const newestFirst = ['s6', 's5', 's4', 's3', 's2', 's1', 's0']
  t.same(await walk(''), newestFirst)
  t.same(await walk('&order=updated'), newestFirst)
  t.same(await walk('&project=odd'), ['s5', 's3', 's1'])
  t.same(await walk('&search=title%203'), ['s3'])
  t.same(await walk('&project=%00'), [], 'a project that no session has')
  const page = (await api.call('GET', '/v1/sessions?limit=2')).body as Page
  for (const url of [
    `/v1/sessions?order=updated&cursor=${page.cursor.next}`,
    `/v1/sessions?project=odd&cursor=${page.cursor.next}`,
    `/v1/sessions/s1/messages?cursor=${page.cursor.next}`,
    `/v1/events?after=${page.cursor.next}`,
  ]) {
    const reply = await api.call('GET', url)
    t.match([reply.status, reply.body], [400, { code: 'invalid_cursor' }], url)
  }
})

t.test('an event of a body that is too large is 413 on every route that makes one', async (t) => {
  await using api = await openTestApp()
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  const big = 'x'.repeat(1024 * 1024)
  for (const [method, url, body] of [
    ['POST', '/v1/sessions', { title: big }],
    ['PATCH', '/v1/sessions/s', { title: big }],
    ['PATCH', '/v1/sessions/s', { metadata: { big } }],
    ['POST', '/v1/sessions/s/inputs', { text: big }],
    ['POST', '/v1/sessions/s/events', { events: [{ type: 'x.big', data: big }] }],
  ] as const) {
    const reply = await api.call(method, url, body)
    t.match([reply.status, reply.body], [413, { code: 'too_large' }], `${method} ${url}`)
    t.match(reply.text, /PUT \/v1\/blobs/)
  }
})
