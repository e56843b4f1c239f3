import t from 'tap'
import type { App } from '../services/api/type-provider.ts'
import { buildApp } from '../services/api/build-app.ts'
import { openLog, type Log } from '../services/log/open-log.ts'
import { readSettings } from '../services/settings.ts'
import { openStreams } from './harness/streams.ts'
import { openTestDatabase, type TestDatabase } from './harness/database.ts'

/** Cases from the field, each through the HTTP interface as its reporter met it. */

type Reply = { status: number; body: never; headers: Record<string, unknown> }
type Call = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Reply>

const withApp = async (
  work: (call: Call, more: { app: App; log: Log; database: TestDatabase }) => Promise<void>,
): Promise<void> => {
  await using database = await openTestDatabase()
  const log = openLog({ pool: database.pool, report: () => {} })
  const report = (): void => {}
  const { pool } = database
  await using streams = openStreams({ url: database.url, pool, log, report })
  const app = buildApp({ ...streams, pool, log, settings: readSettings({}), report })
  const call: Call = async (method, url, body, headers = {}) => {
    const reply = await app.inject({
      method,
      url,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && {
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    })
    return {
      status: reply.statusCode,
      body: (reply.body === '' ? undefined : reply.json()) as never,
      headers: reply.headers,
    }
  }
  try {
    await work(call, { app, log, database })
  } finally {
    await app.close()
    await log[Symbol.asyncDispose]()
  }
}

const note = (messageId: string, more: object = {}) => ({
  type: 'note.added',
  data: { messageId, role: 'system', text: messageId },
  ...more,
})

t.test('case 7: order comes from seq, never from timestamps or ids', async (t) => {
  await withApp(async (call) => {
    await call('POST', '/v1/sessions', { sessionId: 's' })
    const at = '2026-01-01T00:00:00.000Z'
    const events = [
      note('msg_9', { eventId: 'evt_9', occurredAt: at }),
      note('msg_5', { eventId: 'evt_5', occurredAt: at }),
      note('msg_1', { eventId: 'evt_1', occurredAt: '2020-01-01T00:00:00.000Z' }),
    ]
    for (const event of events) await call('POST', '/v1/sessions/s/events', { events: [event] })
    const page = await call('GET', '/v1/sessions/s/events?afterSeq=1')
    t.match(page.body, { data: [{ eventId: 'evt_9' }, { eventId: 'evt_5' }, { eventId: 'evt_1' }] })
    const messages = await call('GET', '/v1/sessions/s/messages')
    t.match(messages.body, {
      data: [
        { messageId: 'msg_9', seq: 2 },
        { messageId: 'msg_5', seq: 3 },
        { messageId: 'msg_1', seq: 4 },
      ],
    })
    const all = await call('GET', '/v1/events?types=note.added')
    t.match(all.body, { data: [{ seq: 2 }, { seq: 3 }, { seq: 4 }] })
  })
})

t.test(
  'case 22, for creates: one press, the request is sent six times with one key: one session',
  async (t) => {
    await withApp(async (call) => {
      const replies = await Promise.all(
        Array.from({ length: 6 }, () =>
          call('POST', '/v1/sessions', { title: 'once' }, { 'idempotency-key': 'press-1' }),
        ),
      )
      t.same(
        replies.map((reply) => reply.status),
        [201, 201, 201, 201, 201, 201],
      )
      t.equal(
        new Set(
          replies.map((reply) => (reply.body as { data: { sessionId: string } }).data.sessionId),
        ).size,
        1,
      )
      const list = await call('GET', '/v1/sessions')
      t.equal((list.body as { data: unknown[] }).data.length, 1)
      const other = await call(
        'POST',
        '/v1/sessions',
        { title: 'other' },
        { 'idempotency-key': 'press-1' },
      )
      t.match(other, { status: 422, body: { code: 'key_reused' } })
    })
  },
)

t.test(
  'case 40: a late append after a delete is refused with session_deleted, and the session can be brought back',
  async (t) => {
    await withApp(async (call) => {
      await call('POST', '/v1/sessions', { sessionId: 's' })
      await call('POST', '/v1/sessions/s/turns', { turnId: 'trn', ownerId: 'own', incarnation: 1 })
      t.equal((await call('DELETE', '/v1/sessions/s')).status, 204)
      const late = await call('POST', '/v1/sessions/s/events', {
        turnId: 'trn',
        fence: 1,
        events: [note('msg')],
      })
      t.match(late, { status: 410, body: { code: 'session_deleted' } })
      for (const url of ['', '/events', '/messages', '/context', '/inputs', '/turns/trn']) {
        t.match(
          await call('GET', `/v1/sessions/s${url}`),
          { status: 410, body: { code: 'session_deleted' } },
          url,
        )
      }
      t.equal((await call('POST', '/v1/sessions/s/restore')).status, 200)
      t.match(await call('GET', '/v1/sessions/s/turns/trn'), {
        body: { data: { status: 'ended', outcome: 'interrupted' } },
      })
    })
  },
)

t.test(
  'case 41: content comes back as it went in, byte for byte of its values, through every way of reading it',
  async (t) => {
    await withApp(async (call) => {
      await call('POST', '/v1/sessions', { sessionId: 's' })
      const deep = `${'['.repeat(300)}0.1${']'.repeat(300)}`
      const data = `{"b":"\\u0000 \\ud800 \\udc00\\ud800 é 日本","__proto__":{"x":1},"constructor":null,"a":[1e21,5e-324,-1.5,9007199254740992],"deep":${deep}}`
      const sent = `{"events":[{"eventId":"evt_1","type":"x.content","data":${data},"meta":{"mine":${data}}}]}`
      t.equal((await call('POST', '/v1/sessions/s/events', sent)).status, 200)
      const again = await call('POST', '/v1/sessions/s/events', sent)
      t.match(
        again.body,
        { data: { events: [{ seq: 2, duplicate: true }] } },
        'and is the same content when it is sent again',
      )
      const expected: unknown = JSON.parse(data)
      for (const url of ['/v1/sessions/s/events?afterSeq=1', '/v1/events?types=x.content']) {
        const { data: events } = (await call('GET', url)).body as {
          data: { data: unknown; meta: { mine: unknown } }[]
        }
        t.same(events[0]?.data, expected, url)
        t.same(events[0]?.meta.mine, expected, url)
        t.ok(Object.hasOwn(events[0]!.data as object, '__proto__'))
      }
    })
  },
)

t.test(
  'case 42: an event that is too large is refused with 413, and the refusal names the route for blobs',
  async (t) => {
    await withApp(async (call, { database }) => {
      await call('POST', '/v1/sessions', { sessionId: 's' })
      const body = (size: number) => ({
        events: [note('a'), { type: 'x.big', data: 'x'.repeat(size) }],
      })
      const event = await call('POST', '/v1/sessions/s/events', body(1024 * 1024 + 1))
      t.match(event, {
        status: 413,
        body: { code: 'too_large', errors: [{ pointer: '/events/1' }] },
      })
      t.match(JSON.stringify(event.body), /PUT \/v1\/blobs\/\{sha256\}/)
      const whole = await call('POST', '/v1/sessions/s/events', body(9 * 1024 * 1024))
      t.match(whole, { status: 413, body: { code: 'too_large' } })
      t.match(JSON.stringify(whole.body), /PUT \/v1\/blobs\/\{sha256\}/)
      const [row] = await database.pool.use((c) =>
        c.query('select count(*) as n from stemma.event'),
      )
      t.same(row, { n: 1 }, 'and nothing was stored')
      t.equal((await call('POST', '/v1/sessions/s/events', body(1024 * 1024 - 100))).status, 200)
    })
  },
)

t.test(
  'case 43: an event of a newer writer is refused at append, and a reader that finds one in the log keeps it and skips it',
  async (t) => {
    await withApp(async (call, { database }) => {
      await call('POST', '/v1/sessions', { sessionId: 's' })
      await call('POST', '/v1/sessions/s/events', { events: [note('msg_1')] })
      const refused = await call('POST', '/v1/sessions/s/events', {
        events: [{ type: 'step.dreamt', data: {} }],
      })
      t.match(refused, {
        status: 400,
        body: { code: 'unknown_type', errors: [{ pointer: '/events/0/type' }] },
      })
      await database.pool.use((c) =>
        c.query(
          `insert into stemma.event select sid, 3, tenant, 900, 'evt_new', 'step.dreamt', 7, '{"messageId":"msg_1"}', '{}', now(), now() from stemma.session`,
        ),
      )
      await database.pool.use((c) => c.query('update stemma.session set head = 3'))
      t.match(await call('GET', '/v1/sessions/s/events?afterSeq=2'), {
        body: { data: [{ type: 'step.dreamt', version: 7 }] },
      })
      t.match(await call('GET', '/v1/sessions/s/messages'), {
        status: 200,
        body: { data: [{ messageId: 'msg_1' }], asOfSeq: 3 },
      })
      t.equal((await call('GET', '/v1/sessions/s')).status, 200)
    })
  },
)

t.test(
  'case 49: an acknowledgement is lost, the turn has ended and another one runs: the same append gets the same answer',
  async (t) => {
    await withApp(async (call) => {
      await call('POST', '/v1/sessions', { sessionId: 's' })
      await call('POST', '/v1/sessions/s/turns', { turnId: 'trn_1', ownerId: 'a', incarnation: 1 })
      const end = {
        turnId: 'trn_1',
        fence: 1,
        expectedSeq: 2,
        events: [
          {
            eventId: 'evt_end',
            type: 'turn.ended',
            data: { turnId: 'trn_1', outcome: 'completed', fence: 1 },
          },
        ],
      }
      const first = await call('POST', '/v1/sessions/s/events', end)
      t.match(first, { status: 200, body: { data: { firstSeq: 3, lastSeq: 3 } } })
      await call('POST', '/v1/sessions/s/turns', { turnId: 'trn_2', ownerId: 'b', incarnation: 1 })
      const again = await call('POST', '/v1/sessions/s/events', end)
      t.match(again, {
        status: 200,
        body: {
          data: {
            firstSeq: 3,
            lastSeq: 3,
            events: [{ eventId: 'evt_end', seq: 3, duplicate: true }],
          },
        },
      })
    })
  },
)

t.test(
  'If-Match and expectedSeq refuse with the head, and the next write with that head goes through',
  async (t) => {
    await withApp(async (call) => {
      await call('POST', '/v1/sessions', { sessionId: 's' })
      await call('POST', '/v1/sessions/s/events', { events: [note('a')] })
      const late = await call(
        'POST',
        '/v1/sessions/s/events',
        { events: [note('b')] },
        { 'if-match': '"1"' },
      )
      t.match(late, { status: 412, body: { code: 'precondition_failed', headSeq: 2 } })
      const old = await call('POST', '/v1/sessions/s/events', {
        events: [note('b')],
        expectedSeq: 1,
      })
      t.match(old, { status: 409, body: { code: 'expected_seq', headSeq: 2 } })
      const now = await call(
        'POST',
        '/v1/sessions/s/events',
        { events: [note('b')] },
        { 'if-match': '"2"' },
      )
      t.match(now, { status: 200, headers: { etag: '"3"' } })
    })
  },
)
