import t from 'tap'
import {
  ask,
  askLeave,
  claim,
  answer,
  decided,
  failed,
  keyed,
  lose,
  retried,
  takeOver,
  told,
  underFence,
} from '../../../test/harness/owner-acts.ts'
import {
  aliveOwner,
  called,
  dispatched,
  event,
  inTurn,
  prompt,
  rehearse,
  rehearseTurn,
  settled,
  startTurn,
  stepEnded,
  stepStarted,
  turnEnded,
} from '../../../test/harness/rehearsal.ts'

// Case 3.
t.test(
  'rule 5: an owner that wakes after a take-over is fenced and learns the fence',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted()))
    takeOver(s)
    const head = s.session.head
    for (const late of [stepEnded('stop'), turnEnded()]) {
      const refusal = s.refuse(inTurn(late))
      t.equal(refusal.code, 'fenced')
      t.same(refusal.members, { turnId: 'trn_1', fence: 2, ownerId: 'own_2' })
    }
    t.equal(s.session.head, head, 'nothing of theirs is in the log')
    s.accept(underFence(2, stepStarted('msg_2')))
  },
)

t.test('rule 5: with an old fence facts that anybody may write are refused too', async (t) => {
  const s = rehearseTurn()
  takeOver(s)
  const rename = event('session.renamed', { title: 'x' })
  t.equal(s.refuse(inTurn(rename)).code, 'fenced', 'there is no silent going on')
  s.accept({ kind: 'append', events: [rename] })
})

t.test('rule 5: the fence grows on every start, claim and release', async (t) => {
  const s = rehearseTurn()
  lose(s)
  const fenceAfter = (act: Parameters<typeof s.accept>[0]) => s.accept(act).outcome.turn!.fence
  t.equal(fenceAfter(claim(1)), 2)
  t.equal(fenceAfter({ kind: 'release-turn', turnId: 'trn_1', fence: 2, eventId: 'evt_r' }), 3)
  t.equal(fenceAfter(claim(3, 'own_a')), 4)
  s.accept(underFence(4, event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 4 })))
  t.equal(fenceAfter({ ...startTurn('trn_2'), ownerId: 'own_2' } as never), 5)
})

t.test('rule 5: a turn that was given up is held by nobody until it is claimed', async (t) => {
  const s = rehearseTurn()
  s.accept({ kind: 'release-turn', turnId: 'trn_1', fence: 1, eventId: 'evt_r' })
  t.equal(s.refuse(inTurn(stepStarted())).code, 'fenced')
  t.equal(s.refuse(underFence(2, stepStarted())).code, 'wrong_state', 'nor under its new fence')
  t.equal(
    s.refuse({ kind: 'release-turn', turnId: 'trn_1', fence: 2, eventId: 'evt_r2' }).code,
    'wrong_state',
  )
  s.accept({ kind: 'append', events: [event('session.renamed', { title: 'x' })] })
  s.accept(claim(2))
  s.accept(underFence(3, stepStarted()))
})

t.test('a turn is claimed only from an owner that is gone or has given it up', async (t) => {
  const s = rehearseTurn()
  s.owners.set('own_1', { ...aliveOwner, lapsesAt: '2030-01-01T00:00:00Z' })
  const refusal = s.refuse(claim(1))
  t.equal(refusal.code, 'owner_alive')
  t.same(refusal.members, { turnId: 'trn_1', ownerId: 'own_1', lapsesAt: '2030-01-01T00:00:00Z' })
  s.owners.set('own_1', { ...aliveOwner, incarnation: 2 })
  const { guards, events } = s.accept(claim(1))
  t.same(
    guards.map(({ ownerId, incarnation, need }) => [ownerId, incarnation, need]),
    [
      ['own_2', 1, 'current'],
      ['own_1', 1, 'lost'],
    ],
    'and both must still be so when it is stored',
  )
  t.match(events.at(-1), {
    type: 'turn.claimed',
    data: { ownerId: 'own_2', fromOwnerId: 'own_1', fromFence: 1, fence: 2 },
  })
})

// Case 5.
t.test('a claim from a list that is old matches nothing', async (t) => {
  const s = rehearseTurn()
  lose(s)
  s.accept(claim(1))
  t.equal(s.refuse(claim(1, 'own_a')).code, 'fenced')
  t.equal(s.refuse(claim(9, 'own_a')).code, 'wrong_state', 'a fence that was never given out')
  s.accept(underFence(2, event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 2 })))
  t.equal(s.refuse(claim(2, 'own_a')).code, 'turn_settled')
  t.equal(s.refuse({ ...claim(2), turnId: 'trn_9' } as never).code, 'turn_not_found')
})

t.test('who starts or claims must be an owner as it is registered now', async (t) => {
  const s = rehearse()
  s.accept({ kind: 'create', event: event('session.created', {}) })
  const start = (ownerId: string, incarnation: number) =>
    ({ ...startTurn('trn_1'), ownerId, incarnation }) as ReturnType<typeof startTurn>
  s.owners.set('own_x', { ...aliveOwner, incarnation: 2 })
  s.owners.set('own_y', { ...aliveOwner, ended: true, lost: true })
  t.equal(s.refuse(start('own_no', 1)).code, 'owner_not_found')
  t.equal(s.refuse(start('own_x', 1)).code, 'owner_superseded')
  t.equal(s.refuse(start('own_x', 3)).code, 'wrong_state')
  t.equal(s.refuse(start('own_y', 1)).code, 'owner_exited')
  s.accept(start('own_x', 2))
})

t.test(
  'rule 11: what a take-over leaves as it is, what may run again, and what nobody knows of',
  async (t) => {
    const s = rehearseTurn()
    s.names.set('child:ses_c', { seq: 1, data: { fence: 1, turn: {} } })
    s.names.set('child:ses_d', { seq: 1, data: { fence: 1 } })
    const task = (callId: string, childSessionId: string) =>
      event('tool.called', {
        messageId: 'msg_1',
        callId,
        name: 'task',
        input: {},
        effect: 'once',
        executedBy: 'host',
        childSessionId,
      })
    s.accept(
      inTurn(
        stepStarted(),
        event('tool.input.started', { messageId: 'msg_1', callId: 'streaming', name: 'x' }),
        event('tool.input.ended', { messageId: 'msg_1', callId: 'streamed', text: '{}' }),
        called('never'),
        called('waits'),
        ask('req_w', 'waits'),
        called('runs-and-waits'),
        dispatched('runs-and-waits'),
        ask('req_r', 'runs-and-waits'),
        called('answered'),
        ask('req_a', 'answered'),
        called('answered-while-it-ran'),
        dispatched('answered-while-it-ran'),
        ask('req_b', 'answered-while-it-ran'),
        called('read', 'read'),
        dispatched('read'),
        called('idempotent', 'idempotent'),
        dispatched('idempotent'),
        called('once'),
        dispatched('once'),
        task('child-runs', 'ses_c'),
        dispatched('child-runs'),
        task('child-idle', 'ses_d'),
        dispatched('child-idle'),
        called('provider', 'read', 'provider'),
      ),
    )
    s.accept(answer('req_a', { answers: [['yes']] }))
    s.accept(answer('req_b', { answers: [['yes']] }))
    const report = takeOver(s)
    t.same(Object.fromEntries(report.calls.map(({ callId, was, now }) => [callId, [was, now]])), {
      streaming: ['streaming', 'cancelled'],
      streamed: ['streamed', 'streamed'],
      never: ['called', 'called'],
      waits: ['called', 'waiting'],
      'runs-and-waits': ['dispatched', 'waiting'],
      answered: ['called', 'called'],
      'answered-while-it-ran': ['dispatched', 'dispatched'],
      read: ['dispatched', 'called'],
      idempotent: ['dispatched', 'called'],
      once: ['dispatched', 'unknown'],
      'child-runs': ['dispatched', 'dispatched'],
      'child-idle': ['dispatched', 'unknown'],
      provider: ['called', 'unknown'],
    })
    t.same(
      s.last
        .filter((e) => e.type === 'tool.settled')
        .map((e) => e.data as { callId: string; outcome: string })
        .map(({ callId, outcome }) => [callId, outcome]),
      [
        ['streaming', 'cancelled'],
        ['once', 'unknown'],
        ['child-idle', 'unknown'],
        ['provider', 'unknown'],
      ],
    )
    t.same(report.requests, ['req_w', 'req_r'])
    s.accept(underFence(2, dispatched('read'), settled('read')))
    t.equal(
      s.refuse(underFence(2, settled('idempotent'))).code,
      'wrong_state',
      'ok needs a dispatch under the new fence',
    )
    t.equal(s.refuse(underFence(2, dispatched('once'))).code, 'wrong_state', 'it has settled')
    s.accept(underFence(2, settled('child-runs'), settled('answered')))
  },
)

t.test('rule 11: an answer that was used by a dispatch is no reason to keep a call', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), askLeave('req_1', 'c1')))
  s.accept(decided('req_1', 'allow_always'))
  s.accept(inTurn(dispatched('c1')))
  t.match(takeOver(s).calls, [{ callId: 'c1', was: 'dispatched', now: 'unknown' }])
})

t.test('rule 7: a take-over ends open parts, fails epochs and compactions', async (t) => {
  const s = rehearseTurn()
  s.accept(
    inTurn(
      stepStarted(),
      event('text.started', { messageId: 'msg_1', partId: 't1' }),
      event('reasoning.started', { messageId: 'msg_1', partId: 'r1' }),
      called('c1'),
      event('compaction.started', { compactionId: 'cmp_1', messageId: 'msg_c', reason: 'auto' }),
      event('epoch.opened', { epochId: 'epo_1', epoch: 1, worktreeId: 'w', capture: 'scan' }),
    ),
  )
  s.accept({ kind: 'admit', event: prompt('msg_2') })
  const report = takeOver(s)
  t.same(told(s).slice(0, -1), [
    'text.ended true',
    'reasoning.ended true',
    'compaction.failed',
    'epoch.failed the turn changed hands before the epoch was sealed',
  ])
  t.match(report, {
    step: { messageId: 'msg_1', attempt: 1, now: 'open', finish: 'tool-calls' },
    parts: ['t1', 'r1'],
    compactions: ['cmp_1'],
    epochs: ['epo_1'],
    inputs: ['msg_2'],
  })
})

t.test('rule 7: a step without a call that is left fails, as aborted', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), dispatched('c1')))
  t.same(takeOver(s).step, { messageId: 'msg_1', attempt: 1, now: 'failed' })
  t.same(told(s).slice(0, 2), ['tool.settled unknown', 'step.failed aborted'])
  t.equal(s.session.state.step, undefined)
  s.accept(underFence(2, stepStarted('msg_2')))
})

t.test(
  'rule 7: a step that keeps a call takes nothing new, and ends with the finish that was streamed',
  async (t) => {
    const s = rehearseTurn()
    const streamed = (finish: string) => event('step.streamed', { messageId: 'msg_1', finish })
    s.accept(inTurn(stepStarted(), called('c1'), streamed('length')))
    t.match(takeOver(s).step, { now: 'open', finish: 'length' })
    for (const more of [
      event('text.started', { messageId: 'msg_1', partId: 'p' }),
      event('text.ended', { messageId: 'msg_1', partId: 'p', text: '' }),
      event('reasoning.started', { messageId: 'msg_1', partId: 'p' }),
      event('tool.input.started', { messageId: 'msg_1', callId: 'c2', name: 'x' }),
      event('tool.input.ended', { messageId: 'msg_1', callId: 'c2', text: '' }),
      called('c2'),
      streamed('stop'),
    ])
      t.equal(s.refuse(underFence(2, more)).code, 'wrong_state', more.type)
    s.accept(underFence(2, dispatched('c1'), settled('c1')))
    const refusal = s.refuse(underFence(2, stepEnded('stop')))
    t.equal(refusal.code, 'wrong_state')
    t.same(refusal.members, { finish: 'length' })
    s.accept(underFence(2, stepEnded('length')))
  },
)

t.test('rule 7: a step that was taken over without a finish ends with tool-calls', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1')))
  takeOver(s)
  s.accept(underFence(2, settled('c1', 'denied')))
  t.equal(s.refuse(underFence(2, stepEnded('stop'))).code, 'wrong_state')
  s.accept(underFence(2, stepEnded('tool-calls')))
})

t.test(
  'rule 13: a step that was taken over may be tried again, and then takes parts',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1', 'read'), dispatched('c1')))
    takeOver(s)
    s.accept(underFence(2, retried(2), called('c2')))
    t.equal(s.session.state.step?.inherited, undefined)
  },
)

t.test('rule 13: what vetoes a retry vetoes it after a take-over too', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), dispatched('c1'), called('c2')))
  takeOver(s)
  t.same(s.refuse(underFence(2, retried(2))).members, { messageId: 'msg_1', callId: 'c1' })
})

t.test('rule 10: an effect is not repeated by who takes over', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), keyed('c1', 'pay-7'), dispatched('c1')))
  takeOver(s)
  s.accept(underFence(2, stepStarted('msg_2')))
  t.equal(
    s.refuse(underFence(2, keyed('c2', 'pay-7', { messageId: 'msg_2' }))).code,
    'effect_repeated',
  )
})

t.test(
  'rule 18: an open request keeps its id over a take-over and is answered after it',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), ask('req_1', 'c1')))
    t.same(takeOver(s).requests, ['req_1'])
    s.accept(answer('req_1', { answers: [['yes']] }))
    s.accept(underFence(2, settled('c1'), stepEnded('tool-calls')))
  },
)

t.test('rule 18: an allow_once that was not used is void after a take-over', async (t) => {
  for (const [decision, isVoid] of [
    ['allow_once', true],
    ['allow_always', false],
    ['reject_once', false],
    ['reject_always', false],
  ] as const) {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), askLeave('req_1', 'c1')))
    s.accept(decided('req_1', decision))
    const [call] = takeOver(s).calls
    t.match(call, { callId: 'c1', now: 'called', decision }, decision)
    t.equal(call?.void ?? false, isVoid, decision)
    const isAllowed = decision === 'allow_always'
    const allowed = s.run(underFence(2, dispatched('c1'))).kind
    t.equal(allowed, isAllowed ? 'accepted' : 'refused', decision)
    if (!isVoid) continue
    lose(s, 'own_2')
    const { report } = s.accept(claim(2, 'own_a')).outcome.turn!
    t.match(report?.calls, [{ callId: 'c1', decision, void: true }], 'the next is told, too')
    s.accept(underFence(3, askLeave('req_2', 'c1')))
    s.accept(decided('req_2', 'allow_once'))
    s.accept(underFence(3, dispatched('c1')))
  }
})

t.test('rule 14: failures in a row are counted over take-overs', async (t) => {
  const s = rehearseTurn()
  s.limits = { mostFailures: 2 }
  s.accept(inTurn(stepStarted()))
  s.accept(inTurn(failed()))
  s.accept(inTurn(stepStarted('msg_2')))
  takeOver(s)
  t.same(told(s)[0], 'step.failed aborted')
  t.equal(s.refuse(underFence(2, stepStarted('msg_3'))).code, 'attempts_spent')
})

t.test('rule 16: the recovery from an overflow is spent for who takes over too', async (t) => {
  const s = rehearseTurn()
  const overflow = (n: number) =>
    event('compaction.started', {
      compactionId: `cmp_${n}`,
      messageId: `msg_c${n}`,
      reason: 'overflow',
    })
  s.accept(inTurn(overflow(1)))
  takeOver(s)
  t.equal(s.refuse(underFence(2, overflow(2))).code, 'overflow_recovery_spent')
})
