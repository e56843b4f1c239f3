import t from 'tap'
import { holdTurn, logOf } from './harness/held-turn.ts'
import {
  called,
  dispatched,
  event,
  settled,
  stepEnded,
  stepStarted,
  turnEnded,
} from './harness/rehearsal.ts'
import { openTestApp, type TestApp } from './harness/test-app.ts'

/** Cases from the field about turns, each through the HTTP interface as its reporter met it. */

const retried = (attempt: number, messageId = 'msg_1') =>
  event('step.retried', {
    messageId,
    attempt,
    error: { kind: 'transport', message: 'connection reset' },
  })

const failed = (kind: 'incomplete' | 'overflow' | 'aborted', messageId = 'msg_1') =>
  event('step.failed', { messageId, error: { kind, message: kind } })

const typesOf = async (api: TestApp, after = 0): Promise<string[]> =>
  (await logOf(api, 's')).filter(({ seq }) => seq > after).map(({ type }) => type)

/** Every call that a context names has its result, in whatever order. */
const openInContext = async (api: TestApp): Promise<string[]> => {
  type Entry = { role: string; callId?: string; parts?: { type: string; callId?: string }[] }
  const { body } = await api.call('GET', '/v1/sessions/s/context')
  const { entries } = (body as { data: { entries: Entry[] } }).data
  const results = new Set(entries.map(({ callId }) => callId))
  return entries
    .flatMap(({ parts = [] }) => parts.filter(({ type }) => type === 'call'))
    .map(({ callId }) => callId!)
    .filter((callId) => !results.has(callId))
}

t.test(
  'case 2: while a turn runs another start is told whose it is, and its input is queued or steered as it asks, or refused',
  async (t) => {
    await using a = await openTestApp()
    await using b = await openTestApp({ database: a.database })
    for (let n = 0; n < 10; n += 1) {
      const at = `/v1/sessions/ses_${n}`
      await a.call('POST', '/v1/sessions', { sessionId: `ses_${n}` })
      const starts = [a, b].map((api, index) =>
        api.call('POST', `${at}/turns`, {
          turnId: `trn_${index}`,
          ownerId: `own_${index + 1}`,
          incarnation: 1,
        }),
      )
      const replies = await Promise.all(starts)
      const winner = replies.findIndex(({ status }) => status === 201)
      const members = { turnId: `trn_${winner}`, ownerId: `own_${winner + 1}` }
      t.match(replies[1 - winner], { status: 409, body: { code: 'turn_active', ...members } })
      const send = (body: object) => b.call('POST', `${at}/inputs`, { text: 'x', ...body })
      t.match(await send({ onlyIfIdle: true }), { status: 409, body: { code: 'turn_active' } })
      t.match(await send({ delivery: 'queue' }), { status: 201 })
      t.match(await send({ delivery: 'steer', expectedTurnId: `trn_${winner}` }), { status: 201 })
      const wrong = await send({ delivery: 'steer', expectedTurnId: `trn_${1 - winner}` })
      t.equal(wrong.status, 409, 'a turn that is not the active one is not steered')
      const waiting = await a.call('GET', `${at}/inputs`)
      t.match(waiting.body, { data: [{ delivery: 'queue' }, { delivery: 'steer' }] })
    }
    t.same([...a.reported, ...b.reported], [])
  },
)

t.test(
  'case 3: who was taken over is fenced, told the new fence, and leaves nothing in the log',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted(), called('c'), dispatched('c')])
    t.match(await turn.claim('own_2', 1), {
      status: 409,
      body: { code: 'owner_alive', ownerId: 'own_1' },
    })
    const exit = { incarnation: 1, reason: 'crashed' }
    await api.call('POST', '/v1/owners/own_1/exited', exit)
    t.match(await turn.claim('own_2', 1), {
      status: 200,
      body: { data: { fence: 2, report: { calls: [{ callId: 'c', now: 'unknown' }] } } },
    })
    const head = (await logOf(api, 's')).length
    for (const late of [
      [settled('c')],
      [event('text.ended', { messageId: 'msg_1', partId: 't', text: 'late' })],
      [turnEnded()],
    ]) {
      t.match(await turn.append(late), { status: 409, body: { code: 'fenced', fence: 2 } })
    }
    t.match(await turn.claim('own_a', 1), { status: 409, body: { code: 'fenced', fence: 2 } })
    t.equal((await logOf(api, 's')).length, head, 'nothing is in the log after the take-over')
    t.equal(
      (
        await turn.append(
          [turnEnded()].map((e) => ({ ...e, data: { ...(e.data as object), fence: 2 } }) as never),
          2,
        )
      ).status,
      200,
    )
  },
)

t.test(
  'case 9: a tool ran and its result was not recorded: the retry is vetoed, the call is unknown, nothing is dispatched again',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted(), called('c'), dispatched('c')])
    t.match(await turn.append([retried(2)]), {
      status: 409,
      body: { code: 'replay_vetoed', messageId: 'msg_1', callId: 'c' },
    })
    t.equal((await turn.append([failed('aborted')])).status, 200)
    const settlement = (await logOf(api, 's')).filter(({ type }) => type === 'tool.settled')
    t.match(settlement, [{ data: { callId: 'c', outcome: 'unknown' } }])
    t.match(await turn.append([dispatched('c')]), { status: 409 })
    const resolve = (outcome: 'ok' | 'error') =>
      api.call('POST', '/v1/sessions/s/events', {
        events: [
          {
            type: 'tool.resolved',
            data: { messageId: 'msg_1', callId: 'c', outcome, evidence: 'the file is there' },
          },
        ],
      })
    t.equal((await resolve('ok')).status, 200, 'anyone may say later what became of it')
    t.equal((await resolve('error')).status, 409, 'once')
  },
)

t.test(
  'case 10: a turn is interrupted while a tool runs: the call is settled in the append of the end, and none is open after',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted(), called('run'), dispatched('run'), called('next')])
    const head = (await logOf(api, 's')).length
    await api.call('POST', `${turn.at}/interrupt`, { reason: 'stop', graceMs: 0 })
    t.same(await typesOf(api, head), [
      'turn.interrupt.requested',
      'tool.settled',
      'tool.settled',
      'step.failed',
      'turn.ended',
    ])
    t.match(
      (await logOf(api, 's')).filter(({ type }) => type === 'tool.settled'),
      [
        { data: { callId: 'run', outcome: 'unknown' } },
        { data: { callId: 'next', outcome: 'cancelled' } },
      ],
    )
    t.same(await openInContext(api), [])
    const { body } = await api.call('POST', '/v1/sync', {
      sessions: [{ sessionId: 's', afterSeq: 1 }],
    })
    t.match(body, { data: [{ status: 'idle', turn: undefined, step: undefined }] })
  },
)

t.test(
  'case 11: a stream without a finish fails its step, and attempts have a bound that a take-over does not lift',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted()])
    for (const finish of ['other', 'unknown', '']) {
      t.match(await turn.append([stepEnded(finish)]), { body: { code: 'incomplete_stream' } })
    }
    t.equal((await turn.append([failed('incomplete')])).status, 200)
    for (const messageId of ['msg_2', 'msg_3']) {
      const step = [stepStarted(messageId), failed('incomplete', messageId)]
      t.equal((await turn.append(step)).status, 200)
    }
    await api.call('POST', `${turn.at}/release`, { fence: 1 })
    await turn.claim('own_2', 2)
    t.equal((await turn.append([stepStarted('msg_4'), retried(2, 'msg_4')], 3)).status, 200)
    const spent = { status: 409, body: { code: 'attempts_spent' } }
    t.match(await turn.append([retried(3, 'msg_4')], 3), spent)
    t.equal((await turn.append([failed('incomplete', 'msg_4')], 3)).status, 200)
    t.match(await turn.append([stepStarted('msg_5')], 3), spent)
  },
)

t.test(
  'case 12: the second recovery from an overflow in a turn is refused, and the turn fails as overflow',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    const compaction = (n: number) => [
      event('compaction.started', {
        compactionId: `cmp_${n}`,
        messageId: `msg_cmp_${n}`,
        reason: 'overflow',
      }),
      event('compaction.ended', {
        compactionId: `cmp_${n}`,
        summary: 'what was',
        tokensBefore: 100_000,
        tokensAfter: 10_000,
      }),
    ]
    await turn.append([stepStarted(), failed('overflow')])
    t.equal((await turn.append(compaction(1))).status, 200)
    await turn.append([stepStarted('msg_2'), failed('overflow', 'msg_2')])
    t.match(await turn.append(compaction(2)), {
      status: 409,
      body: { code: 'overflow_recovery_spent' },
    })
    const error = { kind: 'overflow' as const, message: 'too long, twice' }
    const end = event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 1, error })
    t.equal((await turn.append([end])).status, 200)
    t.match((await api.call('GET', turn.at)).body, {
      data: { outcome: 'failed', error: { kind: 'overflow' } },
    })
  },
)

t.test(
  'case 13: a failed turn that is entered again gives the stored failure, and no step starts',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    const error = { kind: 'provider' as const, message: 'no credit' }
    const end = event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 1, error })
    t.equal((await turn.append([end])).status, 200)
    const settledAs = { status: 409, body: { code: 'turn_settled', outcome: 'failed' } }
    t.match(await turn.append([stepStarted()]), settledAs)
    t.match(await turn.claim('own_2', 1), settledAs)
    t.match(await api.call('POST', `${turn.at}/interrupt`, { reason: 'x' }), settledAs)
    const again = { turnId: 'trn_1', ownerId: 'own_2', incarnation: 1 }
    t.match(await api.call('POST', '/v1/sessions/s/turns', again), {
      status: 409,
      body: { code: 'duplicate_id' },
    })
    t.match((await api.call('GET', turn.at)).body, { data: { outcome: 'failed', error } })
    t.notOk((await typesOf(api)).includes('step.started'))
  },
)

t.test(
  'case 14: an interruption during the back-off of a retry stays the reason, though the clean-up fails too',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted(), retried(2)])
    const stop = { reason: 'wrong file', device: 'phone', graceMs: 60_000 }
    t.match(await api.call('POST', `${turn.at}/interrupt`, stop), {
      body: { data: { status: 'active' } },
    })
    const other = { reason: 'me too', device: 'web' }
    t.equal((await api.call('POST', `${turn.at}/interrupt`, other)).status, 200)
    const error = { kind: 'internal' as const, message: 'the clean-up failed' }
    const end = event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 1, error })
    t.equal((await turn.append([end])).status, 200)
    t.match((await api.call('GET', turn.at)).body, {
      data: {
        outcome: 'interrupted',
        error,
        interrupt: { reason: 'wrong file', by: { device: 'phone' } },
      },
    })
  },
)

t.test(
  'case 15: a step with an open call does not end, and a context never has a call without a result',
  async (t) => {
    await using api = await openTestApp()
    const turn = await holdTurn(api, 's')
    await turn.append([stepStarted(), called('a', 'read'), called('b'), dispatched('a')])
    t.same(await openInContext(api), [])
    t.match(await turn.append([stepEnded('tool-calls')]), {
      status: 409,
      body: { code: 'open_tool_calls', callIds: ['a', 'b'] },
    })
    await turn.append([settled('a')])
    t.same(await openInContext(api), [])
    t.equal((await turn.append([failed('aborted')])).status, 200, 'the failure settles the other')
    t.same(await openInContext(api), [])
  },
)
