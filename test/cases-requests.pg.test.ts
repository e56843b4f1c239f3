import t from 'tap'
import { append, holdTurn, logOf } from './harness/held-turn.ts'
import {
  called,
  dispatched,
  event,
  settled,
  stepEnded,
  stepStarted,
  turnEnded,
} from './harness/rehearsal.ts'
import { openTestApp, type Answer, type TestApp } from './harness/test-app.ts'

/** Cases from the field about questions, each through the HTTP interface as its reporter met it. */

const options = [{ label: 'yes' }, { label: 'no' }]
const question = { question: 'go on?', options }

const ask = (requestId: string, more: object = {}) =>
  event('request.opened', {
    requestId,
    kind: 'question',
    questions: [question],
    ...more,
  } as never)

const answer = ({ call }: TestApp, requestId: string, body: unknown): Promise<Answer> =>
  call('POST', `/v1/sessions/s/requests/${requestId}/answer`, body)

const close = ({ call }: TestApp, requestId: string, body: unknown): Promise<Answer> =>
  call('POST', `/v1/sessions/s/requests/${requestId}/close`, body)

const rowsOf = async ({ call }: TestApp): Promise<{ messageId: string; type: string }[]> =>
  ((await call('GET', '/v1/sessions/s/messages')).body as { data: [] }).data

t.test(
  'case 16: of one prompt and six answered questions each answer is a user row in its place',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    for (let n = 1; n <= 6; n += 1) {
      const messageId = `msg_${n}`
      const step = (type: 'tool.called', data: object) =>
        event(type, { messageId, callId: 'ask', ...data } as never)
      await turn.append([
        event('step.started', {
          messageId,
          attempt: 1,
          agent: 'a',
          model: { modelId: 'm', providerId: 'p' },
        }),
        step('tool.called', { name: 'ask', input: {}, effect: 'read', executedBy: 'host' }),
        ask(`req_${n}`, { messageId, callId: 'ask' }),
      ])
      const row = await answer(api, `req_${n}`, {
        messageId: `msg_answer_${n}`,
        answers: [[n % 2 ? 'yes' : 'no']],
        device: 'phone',
      })
      t.match(row, {
        status: 200,
        body: {
          data: {
            messageId: `msg_answer_${n}`,
            type: 'user',
            origin: 'answer',
            requestId: `req_${n}`,
            answers: [[n % 2 ? 'yes' : 'no']],
            by: { device: 'phone' },
          },
        },
      })
      const content = [{ type: 'text' as const, text: 'said' }]
      await turn.append([
        event('tool.settled', { messageId, callId: 'ask', outcome: 'ok', content }),
        stepEnded('tool-calls', messageId),
      ])
    }
    t.equal((await turn.append([turnEnded()])).status, 200)
    t.same(
      (await rowsOf(api)).map(({ messageId, type }) => [messageId, type]),
      [
        ['msg_user', 'user'],
        ...[1, 2, 3, 4, 5, 6].flatMap((n) => [
          [`msg_${n}`, 'assistant'],
          [`msg_answer_${n}`, 'user'],
        ]),
      ],
    )
    const context = (await api.call('GET', '/v1/sessions/s/context')).body
    const { entries } = (context as { data: { entries: { role: string }[] } }).data
    const turns = [1, 2, 3, 4, 5, 6].flatMap(() => ['assistant', 'tool'])
    t.same(
      entries.map(({ role }) => role),
      ['user', ...turns],
      'the results of the calls carry the answers',
    )
  },
)

t.test(
  'case 17: two clients answer at once: one wins, the same answer gets the same row, another the winner',
  async (t) => {
    await using api = await openTestApp()
    await using other = await openTestApp({ database: api.database })
    const turn = await holdTurn(api, 's')
    for (let n = 0; n < 8; n += 1) {
      const requestId = `req_${n}`
      await turn.append([ask(requestId)])
      const said = await Promise.all([
        answer(api, requestId, { answers: [['yes']] }),
        answer(other, requestId, { answers: [['no']] }),
        answer(other, requestId, { answers: [['yes']] }),
        answer(api, requestId, { answers: [['no']] }),
      ])
      const won = said.filter(({ status }) => status === 200)
      const lost = said.filter(({ status }) => status !== 200)
      t.equal(won.length, 2)
      const idOf = ({ body }: Answer) => (body as { data: { messageId: string } }).data.messageId
      const winner = idOf(won[0]!)
      t.equal(idOf(won[1]!), winner, 'the same answer gets the same row')
      for (const reply of lost) {
        t.match(reply, {
          status: 409,
          body: { code: 'request_settled', settled: 'answered', messageId: winner },
        })
      }
    }
    const answers = (await logOf(api, 's')).filter(({ type }) => type === 'request.answered')
    t.equal(answers.length, 8)
    t.same([...api.reported, ...other.reported], [])
  },
)

t.test(
  'case 19: a run is cancelled while an approval waits: the request is closed with the turn, and the next input is admitted',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    const permission = { action: 'write', resources: ['a.txt'] }
    await turn.append([
      stepStarted(),
      called('write'),
      event('request.opened', {
        requestId: 'req',
        kind: 'permission',
        messageId: 'msg_1',
        callId: 'write',
        permission,
      }),
    ])
    t.match((await api.call('GET', '/v1/sessions/s')).body, { data: { status: 'requires_action' } })
    const stop = { reason: 'changed my mind', device: 'web', graceMs: 0 }
    t.match(await api.call('POST', `${turn.at}/interrupt`, stop), {
      status: 200,
      body: { data: { status: 'ended', outcome: 'interrupted' } },
    })
    t.match(
      (await logOf(api, 's')).slice(-4).map(({ type, data }) => [type, data]),
      [
        ['request.closed', { requestId: 'req', reason: 'cancelled' }],
        ['tool.settled', { callId: 'write', outcome: 'cancelled' }],
        ['step.failed', { messageId: 'msg_1' }],
        ['turn.ended', { interrupt: { reason: 'changed my mind', by: { device: 'web' } } }],
      ],
    )
    t.match(await answer(api, 'req', { decision: 'allow_once' }), {
      status: 409,
      body: { code: 'request_settled', settled: 'cancelled' },
    })
    const next = { text: 'something else', onlyIfIdle: true }
    t.equal((await api.call('POST', '/v1/sessions/s/inputs', next)).status, 201)
    t.match((await api.call('GET', '/v1/sessions/s')).body, {
      data: { status: 'idle', openRequests: [] },
    })
  },
)

t.test(
  'case 20: skipped, dismissed, replied to in chat, rejected and expired are different things, each recorded',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    const expiresAt = new Date(Date.now() - 1_000).toISOString()
    await turn.append([
      ask('skipped'),
      ask('dismissed'),
      ask('replied'),
      ask('rejected'),
      ask('cancelled'),
      ask('expired', { expiresAt }),
    ])
    t.equal((await answer(api, 'skipped', { answers: [null] })).status, 200)
    const { body } = await api.call('POST', '/v1/sessions/s/inputs', {
      messageId: 'msg_chat',
      text: 'neither',
      delivery: 'steer',
    })
    t.match(body, { data: { messageId: 'msg_chat' } })
    for (const reason of ['dismissed', 'rejected', 'cancelled']) {
      t.match(await close(api, reason, { reason }), {
        status: 200,
        body: { data: { requestId: reason, status: 'closed', reason } },
      })
    }
    const replied = { reason: 'replied', messageId: 'msg_chat' }
    t.match(await close(api, 'replied', replied), { status: 200, body: { data: replied } })
    await api.log.execute({
      tenant: 1,
      sessionId: 's',
      kind: 'expire-requests',
      eventId: 'evt_expire',
    })
    const records = (await logOf(api, 's')).filter(({ type }) => /^request\.(a|c)/.test(type))
    t.match(
      records.map(({ type, data }) => [type, data]),
      [
        ['request.answered', { requestId: 'skipped', answers: [null] }],
        ['request.closed', { requestId: 'dismissed', reason: 'dismissed' }],
        ['request.closed', { requestId: 'rejected', reason: 'rejected' }],
        ['request.closed', { requestId: 'cancelled', reason: 'cancelled' }],
        ['request.closed', { requestId: 'replied', reason: 'replied', messageId: 'msg_chat' }],
        ['request.closed', { requestId: 'expired', reason: 'expired' }],
      ],
    )
    for (const [requestId, settled] of [
      ['dismissed', 'dismissed'],
      ['replied', 'replied'],
      ['expired', 'expired'],
    ] as const) {
      t.match(await answer(api, requestId, { answers: [['yes']] }), {
        status: 409,
        body: { code: 'request_settled', settled },
      })
    }
    t.equal((await close(api, 'dismissed', { reason: 'dismissed' })).status, 200, 'the same again')
    t.match(await close(api, 'dismissed', { reason: 'rejected' }), {
      status: 409,
      body: { settled: 'dismissed' },
    })
    t.match(await close(api, 'skipped', { reason: 'dismissed' }), {
      status: 409,
      body: { settled: 'answered' },
    })
  },
)

t.test('an answer must be one to what was asked', async (t) => {
  await using api = await openTestApp()
  const turn = await holdTurn(api, 's')
  await turn.append([
    ask('one'),
    ask('many', {
      questions: [
        { ...question, multiple: true },
        { ...question, custom: true },
      ],
    }),
    event('request.opened', {
      requestId: 'may',
      kind: 'permission',
      permission: { action: 'a', resources: [] },
    }),
    event('request.opened', { requestId: 'form', kind: 'elicitation', schema: { type: 'object' } }),
  ])
  const head = (await logOf(api, 's')).length
  for (const [requestId, body, pointer] of [
    ['one', { decision: 'allow_once' }, '/answers'],
    ['one', { answers: [] }, '/answers'],
    ['one', { answers: [['yes'], ['no']] }, '/answers'],
    ['one', { answers: [['yes', 'no']] }, '/answers/0'],
    ['one', { answers: [['maybe']] }, '/answers/0/0'],
    ['one', { answers: [[]] }, '/answers/0'],
    [
      'many',
      {
        answers: [
          ['yes', 'no'],
          ['any', 'thing'],
        ],
      },
      '/answers/1',
    ],
    ['may', { answers: [['yes']] }, '/decision'],
    ['form', { action: 'decline', content: {} }, '/content'],
  ] as const) {
    t.match(
      await answer(api, requestId, body),
      { status: 400, body: { code: 'invalid_body', errors: [{ pointer }] } },
      `${requestId} ${JSON.stringify(body)}`,
    )
  }
  t.equal((await logOf(api, 's')).length, head, 'nothing was written')
  for (const [requestId, body] of [
    ['many', { answers: [['yes', 'no'], ['any thing']] }],
    ['may', { decision: 'reject_once', message: 'not there' }],
    ['form', { action: 'accept', content: { a: 1 } }],
  ] as const) {
    t.match(await answer(api, requestId, body), { status: 200, body: { data: body } })
  }
})

t.test('what is always allowed stands until it is taken back, once', async (t) => {
  await using api = await openTestApp()
  const turn = await holdTurn(api, 's')
  const permission = { action: 'write', resources: ['*.md'] }
  for (const requestId of ['allow', 'reject', 'once']) {
    await turn.append([event('request.opened', { requestId, kind: 'permission', permission })])
  }
  await answer(api, 'allow', { decision: 'allow_always' })
  await answer(api, 'reject', { decision: 'reject_always' })
  await answer(api, 'once', { decision: 'allow_once' })
  const standing = () => api.call('GET', '/v1/sessions/s/permissions')
  t.match((await standing()).body, {
    data: [
      { requestId: 'allow', ...permission, decision: 'allow', grantedSeq: Number },
      { requestId: 'reject', ...permission, decision: 'reject' },
    ],
  })
  const revoke = (id: string) => api.call('DELETE', `/v1/sessions/s/permissions/${id}`)
  t.equal((await revoke('allow')).status, 204)
  t.equal((await revoke('allow')).status, 204, 'again')
  t.match(await revoke('once'), { status: 404, body: { code: 'permission_not_found' } })
  t.same(
    ((await standing()).body as { data: { requestId: string }[] }).data.map((r) => r.requestId),
    ['reject'],
  )
  const revoked = (await logOf(api, 's')).filter(({ type }) => type === 'permission.revoked')
  t.equal(revoked.length, 1)
})

t.test(
  'answers given while no turn is active wait for a turn that resumes them, and are taken up once',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await append(api, 's', event('note.added', { messageId: 'n', role: 'system', text: 'x' }))
    await turn.append([
      stepStarted(),
      called('ask', 'read'),
      ask('req', { messageId: 'msg_1', callId: 'ask' }),
    ])
    t.match(await api.call('POST', `${turn.at}/release`, { fence: 1 }), { status: 200 })
    t.equal((await answer(api, 'req', { answers: [['yes']] })).status, 200, 'with nobody there')
    const claimed = await turn.claim('own_2', 2)
    t.match(claimed, {
      status: 200,
      body: {
        data: { fence: 3, report: { calls: [{ callId: 'ask', now: 'called', answered: true }] } },
      },
    })
    t.equal((await turn.append([settled('ask')], 1)).status, 409, 'the first owner is fenced')
    t.equal((await turn.append([settled('ask'), stepEnded('tool-calls')], 3)).status, 200)
    t.match(await turn.append([dispatched('ask')], 3), { status: 409 })
  },
)
