import t from 'tap'
import type { Act } from '../../../services/log/command.ts'
import {
  answer,
  ask,
  by,
  claim,
  decided,
  askLeave,
  lose,
  retried,
  setClock,
  takeOver,
  told,
  underFence,
} from '../../../test/harness/owner-acts.ts'
import {
  called,
  dispatched,
  event,
  inTurn,
  prompt,
  rehearseTurn,
  settled,
  startTurn,
  stepEnded,
  stepStarted,
  turnEnded,
  type Rehearsal,
} from '../../../test/harness/rehearsal.ts'

const asking = (...requestIds: string[]): Rehearsal => {
  const s = rehearseTurn()
  s.accept(inTurn(...requestIds.map((requestId) => ask(requestId))))
  return s
}

const yes = { answers: [['yes']] }

type Reason = Extract<Act, { kind: 'close-request' }>['reason']
const close = (requestId: string, reason: Reason, messageId?: string): Act => ({
  kind: 'close-request',
  requestId,
  reason,
  ...(messageId !== undefined && { messageId }),
  eventId: `evt_close_${requestId}_${reason}`,
})

const expire = { kind: 'expire-requests', eventId: 'evt_expire' } as const

// Case 17.
t.test(
  'rule 17: the first answer wins, and the same answer again gets the same receipt',
  async (t) => {
    const s = asking('req_1')
    const first = s.accept(answer('req_1', yes)).outcome.answer
    t.same(first, { messageId: 'msg_of_req_1', seq: s.session.head })
    const again = s.accept({
      ...answer('req_1', yes, 'msg_other'),
      by: { subject: 'bob' },
    } as never)
    t.same(again.outcome.answer, first, 'from whoever, under whichever id')
    t.equal(again.events.length, 0)
    const other = s.refuse(answer('req_1', { answers: [['no']] }))
    t.equal(other.code, 'request_settled')
    t.same(other.members, {
      requestId: 'req_1',
      settled: 'answered',
      messageId: 'msg_of_req_1',
      by,
    })
  },
)

t.test('rule 17: an answer to what was closed gets how it was closed', async (t) => {
  const s = asking('req_1')
  s.accept(close('req_1', 'dismissed'))
  const late = s.refuse(answer('req_1', yes))
  t.equal(late.code, 'request_settled')
  t.same(late.members, { requestId: 'req_1', settled: 'dismissed' })
  s.accept(close('req_1', 'dismissed'))
  t.equal(s.last.length, 0, 'the same again changes nothing')
  t.equal(s.refuse(close('req_1', 'rejected')).code, 'request_settled')
})

t.test('rule 17: what was answered is not closed any more', async (t) => {
  const s = asking('req_1')
  s.accept(answer('req_1', yes))
  t.match(s.refuse(close('req_1', 'cancelled')).members, { settled: 'answered' })
})

t.test('a request that was never opened is request_not_found', async (t) => {
  const s = asking('req_1')
  t.equal(s.refuse(answer('req_no', yes)).code, 'request_not_found')
  t.equal(s.refuse(close('req_no', 'rejected')).code, 'request_not_found')
})

t.test('rule 17: an answer is a row of the transcript, whose id is taken for ever', async (t) => {
  const s = asking('req_1', 'req_2')
  t.equal(s.refuse(answer('req_1', yes, 'msg_user')).code, 'duplicate_id')
  s.accept(answer('req_1', yes, 'msg_a'))
  t.equal(s.refuse(answer('req_2', yes, 'msg_a')).code, 'duplicate_id')
  t.equal(s.refuse({ kind: 'admit', event: prompt('msg_a') }).code, 'duplicate_id')
})

// Case 20.
t.test(
  'rule 19: rejected, dismissed, replied, cancelled, expired and superseded are recorded as such',
  async (t) => {
    const reasons = ['rejected', 'dismissed', 'cancelled'] as const
    for (const reason of reasons) {
      const s = asking('req_1')
      s.accept(close('req_1', reason))
      t.same(told(s), [`request.closed ${reason}`])
      t.equal(s.session.state.requests, undefined)
    }
    const chat = asking('req_1')
    t.equal(chat.refuse(close('req_1', 'replied', 'msg_no')).code, 'dangling_reference')
    chat.accept({ kind: 'admit', event: prompt('msg_chat') })
    chat.accept(close('req_1', 'replied', 'msg_chat'))
    t.match(chat.last, [{ data: { requestId: 'req_1', reason: 'replied', messageId: 'msg_chat' } }])
    const ended = asking('req_1')
    ended.accept(inTurn(turnEnded()))
    t.match(ended.last[0]?.data, { requestId: 'req_1', reason: 'cancelled' })
  },
)

t.test('rule 19: a question that was skipped is answered with null', async (t) => {
  const s = rehearseTurn()
  const question = { question: 'which?', options: [{ label: 'a' }] }
  s.accept(inTurn(ask('req_1', undefined, { questions: [question, question] })))
  s.accept(answer('req_1', { answers: [null, ['a']] }))
  t.match(s.last[0]?.data, { answers: [null, ['a']] })
})

t.test('rule 19: the store writes the expiry, by its own clock', async (t) => {
  const s = rehearseTurn()
  const at = (ms: number) => ({ expiresAt: new Date(ms).toISOString() })
  s.accept(inTurn(ask('req_1', undefined, at(1_000)), ask('req_2', undefined, at(2_000))))
  s.accept(inTurn(ask('req_3')))
  setClock(s, 999)
  s.accept(expire)
  t.equal(s.last.length, 0)
  setClock(s, 1_000)
  s.accept(expire)
  t.match(s.last, [{ type: 'request.closed', data: { requestId: 'req_1', reason: 'expired' } }])
  t.same(Object.keys(s.session.state.requests ?? {}), ['req_2', 'req_3'])
  t.equal(s.refuse(answer('req_1', yes)).members.settled, 'expired')
  setClock(s, 1e15)
  s.accept({ ...expire, eventId: 'evt_later' })
  t.same(Object.keys(s.session.state.requests ?? {}), ['req_3'], 'one without expiry waits')
})

t.test(
  'rule 19: what a retry leaves behind is superseded, what a failed step leaves cancelled',
  async (t) => {
    const s = rehearseTurn()
    const ofMessage = ask('req_2', undefined, { messageId: 'msg_1' })
    s.accept(
      inTurn(ask('req_3'), stepStarted(), called('c1', 'read'), ask('req_1', 'c1'), ofMessage),
    )
    s.accept(inTurn(retried(2)))
    t.same(
      s.last.map((e) => e.data).slice(0, 2),
      [
        { requestId: 'req_1', reason: 'superseded' },
        { requestId: 'req_2', reason: 'superseded' },
      ],
      'with or without a call',
    )
    t.same(
      Object.keys(s.session.state.requests ?? {}),
      ['req_3'],
      'that of no message is the turn’s',
    )
  },
)

t.test(
  'rule 18: an open request is no part of its owner: other owners and clients answer it',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), ask('req_1', 'c1'), ask('req_2')))
    takeOver(s)
    s.accept(answer('req_1', yes))
    lose(s, 'own_2')
    s.accept(claim(2, 'own_a'))
    t.same(Object.keys(s.session.state.requests ?? {}), ['req_2'])
    s.accept(answer('req_2', yes))
    s.accept(underFence(3, settled('c1'), stepEnded('tool-calls')))
  },
)

t.test('rule 10: a question that was answered makes its call ok without a dispatch', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), ask('req_1', 'c1')))
  t.equal(s.refuse(inTurn(settled('c1'))).code, 'wrong_state', 'not before it is answered')
  s.accept(answer('req_1', yes))
  s.accept(inTurn(settled('c1')))
})

t.test('rule 10: what was asked and closed without an answer makes nothing ok', async (t) => {
  for (const reason of ['rejected', 'dismissed', 'replied', 'cancelled'] as const) {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), ask('req_1', 'c1')))
    s.accept(close('req_1', reason))
    t.equal(s.refuse(inTurn(settled('c1'))).code, 'wrong_state', reason)
    s.accept(inTurn(settled('c1', 'denied')))
  }
})

t.test('an answer must be one to what was asked', async (t) => {
  const s = rehearseTurn()
  const one = { question: 'q', options: [{ label: 'a' }, { label: 'b' }] }
  const many = { ...one, multiple: true }
  const free = { ...one, custom: true }
  s.accept(inTurn(ask('req_1', undefined, { questions: [one, many, free] })))
  const wrong: [Parameters<typeof answer>[1], string][] = [
    [{ answers: [['a']] }, '/answers'],
    [{ answers: [['a', 'b'], ['a'], null] }, '/answers/0'],
    [{ answers: [[], ['a'], null] }, '/answers/0'],
    [{ answers: [['a'], ['a', 'c'], null] }, '/answers/1/1'],
    [{ decision: 'allow_once' }, '/answers'],
  ]
  for (const [given, pointer] of wrong) {
    const refusal = s.refuse(answer('req_1', given))
    t.equal(refusal.code, 'invalid_body')
    t.equal(refusal.faults[0]?.pointer, pointer)
  }
  s.accept(answer('req_1', { answers: [['b'], ['a', 'b'], ['mine']] }))
  s.accept(inTurn(askLeave('req_2')))
  t.equal(s.refuse(answer('req_2', yes)).faults[0]?.pointer, '/decision')
  s.accept(inTurn(event('request.opened', { requestId: 'req_3', kind: 'elicitation', schema: {} })))
  const declined = { action: 'decline', content: {} } as const
  t.equal(s.refuse(answer('req_3', declined)).faults[0]?.pointer, '/content')
  s.accept(answer('req_3', { action: 'decline' }))
})

t.test('a request says what it asks, and of which call of which message', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), called('c2'), settled('c2', 'denied')))
  const bad = (more: object) =>
    s.refuse(inTurn(event('request.opened', { requestId: 'req_1', kind: 'question', ...more })))
  const questions = [{ question: 'q', options: [] }]
  t.equal(bad({}).faults[0]?.pointer, '/events/0/data/questions')
  t.equal(bad({ questions: [] }).faults[0]?.pointer, '/events/0/data/questions')
  t.equal(bad({ questions, callId: 'c1' }).faults[0]?.pointer, '/events/0/data/messageId')
  t.equal(bad({ questions, expiresAt: 'soon' }).faults[0]?.pointer, '/events/0/data/expiresAt')
  const of = (callId: string) => ({ questions, messageId: 'msg_1', callId })
  t.equal(bad(of('c_no')).code, 'dangling_reference')
  t.equal(bad(of('c2')).code, 'wrong_state', 'it has settled')
  s.accept(inTurn(ask('req_2', 'c1')))
  t.equal(bad(of('c1')).code, 'wrong_state', 'it waits already')
  s.accept(answer('req_2', yes))
  s.accept(inTurn(dispatched('c1'), ask('req_3', 'c1')))
})

t.test('at most 64 requests of a session are open', async (t) => {
  const s = asking(...Array.from({ length: 64 }, (_, n) => `req_${n}`))
  t.equal(s.refuse(inTurn(ask('req_64'))).code, 'too_much_open')
  s.accept(answer('req_0', yes))
  s.accept(inTurn(ask('req_64')))
})

t.test(
  'an answer that is given while no turn is active waits for the turn that resumes it',
  async (t) => {
    const s = asking('req_1', 'req_2')
    // As a fork leaves it: open, and no turn.
    const { turn: _, ...state } = s.session.state
    s.session = { ...s.session, state }
    s.accept(answer('req_1', yes))
    s.accept(close('req_2', 'dismissed'))
    t.same(Object.keys(s.session.state.answers ?? {}), ['req_1'])
    const resume = (turnId: string, requestId: string) =>
      ({ ...startTurn(turnId), resumes: [requestId] }) as Act
    t.equal(s.refuse(resume('trn_2', 'req_no')).code, 'dangling_reference')
    t.equal(s.refuse(resume('trn_2', 'req_2')).code, 'wrong_state', 'it was not answered')
    s.accept(resume('trn_2', 'req_1'))
    t.equal(s.session.state.answers, undefined)
    s.accept({
      kind: 'append',
      turnId: 'trn_2',
      fence: 2,
      events: [event('turn.ended', { turnId: 'trn_2', outcome: 'completed', fence: 2 })],
    })
    t.equal(s.refuse(resume('trn_3', 'req_1')).code, 'wrong_state', 'it is taken up once')
  },
)

t.test('an answer that is given in a turn is that turn’s, and no work', async (t) => {
  const s = asking('req_1')
  s.accept(answer('req_1', yes))
  t.equal(s.session.state.answers, undefined)
})

t.test('rule 17: a decision is an answer like any other', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(askLeave('req_1')))
  s.accept(decided('req_1', 'allow_once'))
  t.equal(s.accept(decided('req_1', 'allow_once')).events.length, 0)
  t.equal(s.refuse(decided('req_1', 'allow_always')).code, 'request_settled')
})
