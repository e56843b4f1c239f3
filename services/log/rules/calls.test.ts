import t from 'tap'
import {
  called,
  dispatched,
  event,
  inTurn,
  rehearseTurn,
  settled,
  stepEnded,
  stepStarted,
} from '../../../test/harness/rehearsal.ts'

t.test(
  'rule 10: a call is recorded before it is dispatched, and settles exactly once',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted()))
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'dangling_reference')
    t.equal(s.refuse(inTurn(settled('c1'))).code, 'dangling_reference')
    s.accept(inTurn(called('c1')))
    t.equal(s.refuse(inTurn(called('c1'))).code, 'wrong_state')
    s.accept(inTurn(dispatched('c1'), settled('c1')))
    t.equal(s.refuse(inTurn(settled('c1'))).code, 'wrong_state', 'once')
    t.equal(s.refuse(inTurn(called('c1'))).code, 'duplicate_id', 'and its id is not used again')
  },
)

t.test(
  'rule 10: ok needs a dispatch, an answered request, or a provider that ran it',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), called('c2', 'once', 'provider')))
    t.equal(s.refuse(inTurn(settled('c1'))).code, 'wrong_state')
    s.accept(inTurn(settled('c2')))
    s.accept(inTurn(settled('c1', 'denied')))
  },
)

t.test('a call that waits for an open request is not dispatched', async (t) => {
  const s = rehearseTurn()
  const open = event('request.opened', {
    requestId: 'req_1',
    kind: 'permission',
    messageId: 'msg_1',
    callId: 'c1',
    permission: { action: 'run', resources: [] },
  })
  s.accept(inTurn(stepStarted(), called('c1'), open))
  t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state')
})

t.test('a call that settles while its request is open closes the request first', async (t) => {
  const s = rehearseTurn()
  const open = event('request.opened', {
    requestId: 'req_1',
    kind: 'question',
    messageId: 'msg_1',
    callId: 'c1',
    questions: [{ question: 'q', options: [] }],
  })
  s.accept(inTurn(stepStarted(), called('c1'), open, settled('c1', 'cancelled')))
  t.same(s.last.map((e) => e.type).slice(-2), ['request.closed', 'tool.settled'])
  t.equal(s.session.state.requests, undefined)
})

t.test(
  'rule 12: a step with an unsettled call does not end, and step.failed settles it (case 15)',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), called('c2'), dispatched('c2')))
    const refusal = s.refuse(inTurn(stepEnded('tool-calls')))
    t.equal(refusal.code, 'open_tool_calls')
    t.same(refusal.members, { callIds: ['c1', 'c2'] })
    s.accept(
      inTurn(
        event('step.failed', { messageId: 'msg_1', error: { kind: 'provider', message: 'm' } }),
      ),
    )
    t.same(
      s.last.map((e) => [e.type, (e.data as { outcome?: string }).outcome, e.derived]),
      [
        ['tool.settled', 'cancelled', true],
        ['tool.settled', 'unknown', true],
        ['step.failed', undefined, undefined],
      ],
    )
  },
)

t.test(
  'rule 15: a step without a finish that the store knows does not end (case 11)',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted()))
    for (const finish of ['other', 'unknown', '']) {
      t.equal(s.refuse(inTurn(stepEnded(finish))).code, 'incomplete_stream', finish)
    }
    s.accept(
      inTurn(
        event('step.failed', { messageId: 'msg_1', error: { kind: 'incomplete', message: 'm' } }),
      ),
    )
  },
)

t.test('an unknown outcome is explained later, once, by anyone', async (t) => {
  const s = rehearseTurn()
  const resolve = (id: string) => ({
    kind: 'append' as const,
    events: [
      event('tool.resolved', { messageId: 'msg_1', callId: id, outcome: 'ok', evidence: 'seen' }),
    ],
  })
  s.accept(
    inTurn(
      stepStarted(),
      called('c1'),
      dispatched('c1'),
      settled('c1', 'unknown'),
      called('c2'),
      dispatched('c2'),
      settled('c2'),
    ),
  )
  t.equal(s.refuse(resolve('c9')).code, 'dangling_reference')
  t.equal(s.refuse(resolve('c2')).code, 'wrong_state')
  s.accept(resolve('c1'))
  t.equal(s.refuse(resolve('c1')).code, 'wrong_state')
})

t.test('a name that one append notes twice is stored once, with the later event', async (t) => {
  const s = rehearseTurn()
  const retry = event('step.retried', {
    messageId: 'msg_1',
    attempt: 2,
    error: { kind: 'provider', message: '' },
  })
  const decision = s.accept(
    inTurn(
      stepStarted(),
      called('c1', 'read'),
      dispatched('c1'),
      retry,
      called('c1', 'read'),
      dispatched('c1'),
      settled('c1', 'unknown'),
    ),
  )
  const noted = decision.names.filter((name) => name.replace)
  t.same(
    noted.map((name) => name.name),
    ['unknown:msg_1/c1'],
  )
  t.equal(noted[0]?.seq, decision.outcome.lastSeq)
})

t.test(
  'rule 10: a call id that ended as unknown in two attempts is resolved once for each',
  async (t) => {
    const s = rehearseTurn()
    const resolved = event('tool.resolved', {
      messageId: 'msg_1',
      callId: 'c1',
      outcome: 'ok',
      evidence: 'seen',
    })
    const again = () => ({ ...resolved, eventId: `evt_r${s.session.head}` })
    s.accept(
      inTurn(stepStarted(), called('c1', 'read'), dispatched('c1'), settled('c1', 'unknown')),
    )
    s.accept({ kind: 'append', events: [again()] })
    t.equal(s.refuse({ kind: 'append', events: [again()] }).code, 'wrong_state')
    s.accept(inTurn(retried(2), called('c1', 'read'), dispatched('c1'), settled('c1', 'unknown')))
    s.accept({ kind: 'append', events: [again()] })
    t.equal(s.refuse({ kind: 'append', events: [again()] }).code, 'wrong_state')
  },
)

const retried = (attempt: number) =>
  event('step.retried', {
    messageId: 'msg_1',
    attempt,
    error: { kind: 'provider', message: '' },
  })

t.test('rule 2: a part is found in whatever attempt it is, and a step has a hundred', async (t) => {
  const s = rehearseTurn()
  s.limits = { mostFailures: 1_000 }
  s.accept(inTurn(stepStarted()))
  for (let attempt = 2; attempt <= 100; attempt += 1) s.accept(inTurn(retried(attempt)))
  t.equal(s.refuse(inTurn(retried(101))).code, 'attempts_spent')
  const text = event('text.ended', { messageId: 'msg_1', partId: 'p', text: 'x' })
  s.accept(inTurn(text, stepEnded('stop')))
  const exclude = (partId: string) =>
    event('part.excluded', { messageId: 'msg_1', partId, reason: 'long' })
  s.accept({ kind: 'append', events: [exclude('p')] })
  t.equal(s.refuse({ kind: 'append', events: [exclude('q')] }).code, 'dangling_reference')
})
