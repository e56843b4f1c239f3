import t from 'tap'
import { holdTurn } from '../../test/harness/held-turn.ts'
import { askLeave } from '../../test/harness/owner-acts.ts'
import { called, event, stepStarted } from '../../test/harness/rehearsal.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'

const ask = (requestId: string) =>
  event('request.opened', {
    requestId,
    kind: 'question',
    questions: [{ question: 'which?', options: [{ label: 'a' }] }],
  })

const keyed =
  ({ call }: TestApp, key: string) =>
  (method: string, path: string, body?: unknown) =>
    call(method, path, body, { 'idempotency-key': key })

const receiptsOf = async ({ database }: TestApp): Promise<number> => {
  const [row] = await database.pool.use((connection) =>
    connection.query<{ n: number }>('select count(*) as n from stemma.receipt'),
  )
  return row!.n
}

t.test(
  'a command that succeeds without an event leaves its receipt: the same again is answered as the first time, whatever came since',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([
      stepStarted(),
      called('c'),
      ask('req_answered'),
      ask('req_closed'),
      askLeave('req_leave', 'c'),
    ])
    const request = (requestId: string): string => `/v1/sessions/s/requests/${requestId}`
    const answer = { answers: [['a']] }
    const close = { reason: 'dismissed' }
    const noted = event('note.added', { messageId: 'msg_n', role: 'system', text: 'x' })
    const { eventId, type, data } = noted
    const acts: readonly [string, string, unknown][] = [
      ['POST', `${turn.at}/interrupt`, { reason: 'enough' }],
      ['POST', `${request('req_answered')}/answer`, answer],
      ['POST', `${request('req_closed')}/close`, close],
      ['DELETE', '/v1/sessions/s/permissions/req_leave', undefined],
      ['POST', '/v1/sessions/s/events', { events: [{ eventId, type, data }] }],
    ]
    await api.call('POST', `${request('req_leave')}/answer`, { decision: 'allow_always' })
    for (const act of acts) t.ok((await api.call(...act)).status < 300, act[1])
    const before = await api.call('GET', '/v1/sessions/s')
    const firsts = []
    for (const [n, act] of acts.entries()) firsts.push(await keyed(api, `key_${n}`)(...act))
    t.match((await api.call('GET', '/v1/sessions/s')).headers, { etag: before.headers.etag })
    t.equal(await receiptsOf(api), acts.length)
    await turn.append([event('turn.ended', { turnId: 'trn_1', outcome: 'interrupted', fence: 1 })])
    const again = await keyed(api, 'key_0')(...acts[0]!)
    t.equal(again.status, 200)
    await api.call('DELETE', '/v1/sessions/s')
    for (const [n, act] of acts.entries()) {
      // The others give what they read, and of a deleted session nothing is read.
      if (n < 2) continue
      const { status, text } = await keyed(api, `key_${n}`)(...act)
      t.same([status, text], [firsts[n]!.status, firsts[n]!.text], act[1])
    }
    const other = await keyed(api, 'key_2')('POST', `${request('req_closed')}/close`, {
      reason: 'rejected',
    })
    t.match(other, { status: 422, body: { code: 'key_reused' } })
    t.same(api.reported, [])
  },
)

t.test('the same key many times at once leaves one receipt, and each has its answer', async (t) => {
  await using a = await openTestApp()
  await using b = await openTestApp({ database: a.database })
  const turn = await holdTurn(a, 's')
  await a.call('POST', `${turn.at}/interrupt`, { reason: 'enough' })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      keyed(n % 2 ? a : b, 'key')('POST', `${turn.at}/interrupt`, { reason: 'enough' }),
    ),
  )
  t.same(
    answers.map(({ status }) => status),
    answers.map(() => 200),
  )
  t.equal(await receiptsOf(a), 1)
  t.same([...a.reported, ...b.reported], [])
})
