import t from 'tap'
import {
  event,
  inTurn,
  prompt,
  rehearse,
  rehearseTurn,
  startTurn,
  stepEnded,
  stepStarted,
  turnEnded,
} from '../../../test/harness/rehearsal.ts'

t.test(
  'rule 4: a second start is refused with turn_active and says whose turn it is',
  async (t) => {
    const s = rehearseTurn()
    const refusal = s.refuse(startTurn('trn_2'))
    t.equal(refusal.code, 'turn_active')
    t.same(refusal.members, { turnId: 'trn_1', ownerId: 'own_1' })
  },
)

t.test('rule 5: the fence grows with every start and never begins again', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(turnEnded()))
  const second = s.accept(startTurn('trn_2'))
  t.same(second.outcome.turn, { turnId: 'trn_2', fence: 2 })
})

t.test(
  'rule 5: events of a turn need turnId and fence, checked in the order of the design',
  async (t) => {
    const s = rehearse()
    s.accept({ kind: 'create', event: event('session.created', {}) })
    const bare = { kind: 'append' as const, events: [stepStarted()] }
    t.equal(s.refuse(bare).code, 'no_turn', 'none given and none active')
    t.equal(s.refuse({ ...bare, turnId: 'trn_1', fence: 1 }).code, 'no_turn', 'never started')
    s.accept(startTurn('trn_1'))
    t.equal(s.refuse(bare).code, 'fence_required')
    t.equal(s.refuse({ ...bare, turnId: 'trn_9', fence: 1 }).code, 'no_turn')
    const fenced = s.refuse({ ...bare, turnId: 'trn_1', fence: 0 })
    t.equal(fenced.code, 'fenced')
    t.same(
      fenced.members,
      { turnId: 'trn_1', fence: 1, ownerId: 'own_1' },
      'with the current fence',
    )
    t.equal(s.refuse({ ...bare, turnId: 'trn_1', fence: 7 }).code, 'wrong_state', 'never given out')
    s.accept({ ...bare, turnId: 'trn_1', fence: 1 })
    t.same(s.last[0]?.meta, { turnId: 'trn_1', fence: 1 }, 'and keep both in meta')
  },
)

t.test('rule 5: an old fence is fenced also when the turn has ended since', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(turnEnded()))
  const late = { kind: 'append' as const, events: [stepStarted()], turnId: 'trn_1' }
  t.equal(s.refuse({ ...late, fence: 0 }).code, 'fenced')
  t.equal(s.refuse({ ...late, fence: 1 }).code, 'turn_settled')
})

t.test(
  'rule 6: a turn that has ended takes nothing, and the refusal tells its stored outcome',
  async (t) => {
    const s = rehearseTurn()
    s.accept(
      inTurn(
        event('turn.ended', {
          turnId: 'trn_1',
          outcome: 'failed',
          fence: 1,
          error: { kind: 'overflow', message: 'secret' },
        }),
      ),
    )
    const refusal = s.refuse(inTurn(stepStarted()))
    t.equal(refusal.code, 'turn_settled')
    t.same(refusal.members, { turnId: 'trn_1', outcome: 'failed', errorKind: 'overflow' })
    t.equal(s.refuse(inTurn(turnEnded())).code, 'turn_settled', 'it ends once')
  },
)

t.test(
  'rule 8: an input is delivered in the append of the turn that takes it up, after its start',
  async (t) => {
    const s = rehearseTurn()
    t.same(
      s.last.map((e) => [e.type, e.derived ?? false]),
      [
        ['turn.started', false],
        ['input.delivered', true],
      ],
    )
    t.equal(s.session.state.inputs, undefined)
    t.equal(
      s.refuse(inTurn(event('input.delivered', { messageId: 'msg_user', turnId: 'trn_1' }))).code,
      'input_delivered',
    )
  },
)

t.test(
  'rule 8: a steered input is delivered later in the same turn, one that waits stays',
  async (t) => {
    const s = rehearseTurn()
    s.accept({ kind: 'admit', event: prompt('msg_2', 'steer') })
    s.accept({ kind: 'admit', event: prompt('msg_3') })
    const queued = event('input.delivered', { messageId: 'msg_3', turnId: 'trn_1' })
    t.equal(s.refuse(inTurn(queued)).code, 'wrong_state', 'it waits for the next turn')
    s.accept(inTurn(event('input.delivered', { messageId: 'msg_2', turnId: 'trn_1' })))
    s.accept(inTurn(turnEnded()))
    t.same(Object.keys(s.session.state.inputs ?? {}), ['msg_3'])
  },
)

t.test('a turn cannot take up an input that was never admitted, or was cancelled', async (t) => {
  const s = rehearse()
  s.accept({ kind: 'create', event: event('session.created', {}) })
  t.equal(s.refuse(startTurn('trn_1', ['msg_no'])).code, 'dangling_reference')
  s.accept({ kind: 'admit', event: prompt('msg_a') })
  s.accept({ kind: 'cancel-input', messageId: 'msg_a', eventId: 'evt_c' })
  t.equal(s.refuse(startTurn('trn_1', ['msg_a'])).code, 'input_delivered')
  t.equal(
    s.refuse({ kind: 'cancel-input', messageId: 'msg_a', eventId: 'evt_d' }).code,
    'input_delivered',
  )
  t.equal(
    s.refuse({ kind: 'cancel-input', messageId: 'msg_no', eventId: 'evt_e' }).code,
    'input_not_found',
  )
  t.equal(s.log.length, 3, 'and nothing was appended')
})

t.test('inputs, names and other facts need no turn and never invalidate its appends', async (t) => {
  const s = rehearseTurn()
  s.accept({ kind: 'append', events: [event('session.renamed', { title: 'x' })] })
  s.accept({
    kind: 'append',
    events: [{ eventId: 'evt_x', type: 'x.any', version: 1, data: 1, meta: {} }],
  })
  s.accept(inTurn(stepStarted(), stepEnded('stop'), turnEnded()))
  t.equal(s.session.state.turn, undefined)
})

t.test('onlyIfIdle admits nothing while a turn runs', async (t) => {
  const s = rehearseTurn()
  t.equal(s.refuse({ kind: 'admit', event: prompt('msg_2'), onlyIfIdle: true }).code, 'turn_active')
})

t.test('rule 6: nothing of a turn stands behind its end, in the same append either', async (t) => {
  const s = rehearseTurn()
  const open = event('request.opened', {
    requestId: 'req_1',
    kind: 'permission',
    permission: { action: 'a', resources: [] },
  })
  t.equal(s.refuse(inTurn(turnEnded(), open)).code, 'turn_settled')
  t.equal(
    s.refuse(inTurn(turnEnded(), event('context.updated', { contextEpoch: 1, baseline: {} }))).code,
    'turn_settled',
  )
  s.accept(inTurn(turnEnded(), event('session.renamed', { title: 'x' })))
})
