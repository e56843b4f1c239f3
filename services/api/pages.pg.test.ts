import t from 'tap'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

type Message = { messageId: string; seq: number }
type Page = {
  data: Message[]
  cursor: { next: string | null; previous: string | null }
  asOfSeq: number
}

const notes = async ({ call }: TestApp, count: number): Promise<string[]> => {
  await call('POST', '/v1/sessions', { sessionId: 's' })
  const ids = Array.from({ length: count }, (_, n) => `m${n}`)
  for (const messageId of ids) {
    const data = { messageId, role: 'system', text: messageId }
    await call('POST', '/v1/sessions/s/events', { events: [{ type: 'note.added', data }] })
  }
  return ids
}

t.test(
  'pages of a transcript, forward and back again, show each message once and in order',
  async (t) => {
    await using api = await openTestApp()
    const ids = await notes(api, 7)
    for (const order of ['asc', 'desc']) {
      const all = order === 'asc' ? ids : ids.toReversed()
      for (const limit of [1, 2, 3, 7, 8]) {
        const get = async (cursor: string | null): Promise<Page> => {
          const query = `limit=${limit}&order=${order}${cursor === null ? '' : `&cursor=${cursor}`}`
          return (await api.call('GET', `/v1/sessions/s/messages?${query}`)).body
        }
        const pages = [await get(null)]
        t.equal(pages[0]!.cursor.previous, null, 'nothing is before the first page')
        while (pages.at(-1)!.cursor.next !== null) pages.push(await get(pages.at(-1)!.cursor.next))
        const shown = pages.flatMap(({ data }) => data.map((m) => m.messageId))
        t.same(shown, all, `${order} by ${limit}`)
        let page = pages.at(-1)!
        const back = [page]
        while (page.cursor.previous !== null) back.unshift((page = await get(page.cursor.previous)))
        const again = back.flatMap(({ data }) => data.map((m) => m.messageId))
        t.same(again, all, `${order} by ${limit}, backwards`)
        if (back.length > 1) t.same((await get(back[0]!.cursor.next)).data[0], back[1]!.data[0])
      }
    }
  },
)

t.test(
  'a page ends where a message of the end is awaited, and goes on when it is there',
  async (t) => {
    await using api = await openTestApp()
    await notes(api, 2)
    const first = (await api.call('GET', '/v1/sessions/s/messages?limit=2')).body as Page
    t.equal(first.cursor.next, null)
    t.equal(first.asOfSeq, 3)
    const past = (await api.call('GET', '/v1/sessions/s/messages?atSeq=2')).body as Page
    t.same([past.asOfSeq, past.data.map((m) => m.messageId)], [2, ['m0']])
  },
)

t.test('a cursor of one transcript is of no use in another, or with other filters', async (t) => {
  await using api = await openTestApp()
  await notes(api, 3)
  await api.call('POST', '/v1/sessions', { sessionId: 'other' })
  const { cursor } = (await api.call('GET', '/v1/sessions/s/messages?limit=1')).body as Page
  for (const url of [
    `/v1/sessions/other/messages?cursor=${cursor.next}`,
    `/v1/sessions/s/messages?order=desc&cursor=${cursor.next}`,
    `/v1/sessions/s/messages?include=hidden&cursor=${cursor.next}`,
    `/v1/sessions/s/messages?atSeq=2&cursor=${cursor.next}`,
    `/v1/sessions?cursor=${cursor.next}`,
  ]) {
    const reply = await api.call('GET', url)
    t.match([reply.status, reply.body], [400, { code: 'invalid_cursor' }], url)
  }
})

t.test('events of a session are read page by page, as they went in', async (t) => {
  await using api = await openTestApp()
  await notes(api, 5)
  const seqs: number[] = []
  for (let after = 0, end = 1; after < end;) {
    const page = (await api.call('GET', `/v1/sessions/s/events?afterSeq=${after}&limit=2`))
      .body as Page
    seqs.push(...page.data.map((event) => event.seq))
    after = page.data.at(-1)!.seq
    end = page.asOfSeq
  }
  t.same(seqs, [1, 2, 3, 4, 5, 6])
  const beyond = await api.call('GET', '/v1/sessions/s/events?afterSeq=99')
  t.same([beyond.status, beyond.body], [200, { data: [], asOfSeq: 6 }])
})

t.test('the events of all sessions are followed by a cursor that never ends', async (t) => {
  await using api = await openTestApp()
  await notes(api, 3)
  const types: string[] = []
  let next = ''
  for (let page = 0; page < 4; page += 1) {
    const after = next === '' ? '' : `&after=${next}`
    const body = (await api.call('GET', `/v1/events?limit=2${after}`)).body as {
      data: { type: string }[]
      cursor: { next: string }
    }
    types.push(...body.data.map((event) => event.type))
    next = body.cursor.next
  }
  t.same(types, ['session.created', 'note.added', 'note.added', 'note.added'])
  await api.call('POST', '/v1/sessions', { sessionId: 'later' })
  const later = await api.call('GET', `/v1/events?after=${next}`)
  t.match(later.body, { data: [{ sessionId: 'later' }] })
  const chosen = await api.call('GET', '/v1/events?types=session.created,x.mine')
  t.match(chosen.body, { data: [{ sessionId: 's' }, { sessionId: 'later' }] })
  t.equal((chosen.body as { data: unknown[] }).data.length, 2)
  const unknown = await api.call('GET', '/v1/events?types=session.dreamt')
  t.match([unknown.status, unknown.body], [400, { code: 'unknown_type' }])
  const other = await api.call('GET', `/v1/events?types=note.added&after=${next}`)
  t.match([other.status, other.body], [400, { code: 'invalid_cursor' }])
})

t.test('a cursor of another log is refused with reset', async (t) => {
  await using one = await openTestApp()
  await using two = await openTestApp()
  await notes(one, 1)
  const { cursor } = (await one.call('GET', '/v1/events')).body as { cursor: { next: string } }
  const reply = await two.call('GET', `/v1/events?after=${cursor.next}`)
  t.match([reply.status, reply.body], [400, { code: 'invalid_cursor', reset: true }])
})
