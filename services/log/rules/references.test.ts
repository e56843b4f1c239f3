import t from 'tap'
import {
  called,
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

t.test('rule 2: what an event names must exist', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted()))
  const missing = [
    event('text.ended', { messageId: 'msg_no', partId: 'p', text: '' }),
    stepEnded('stop', 'msg_no'),
    event('step.failed', { messageId: 'msg_no', error: { kind: 'aborted', message: '' } }),
    settled('c_no', 'error'),
    event('request.opened', {
      requestId: 'req_1',
      kind: 'permission',
      messageId: 'msg_no',
      permission: { action: 'a', resources: [] },
    }),
    event('epoch.sealed', { epochId: 'epo_no', changes: [] }),
    event('epoch.opened', {
      epochId: 'epo_2',
      epoch: 1,
      worktreeId: 'w',
      capture: 'scan',
      messageId: 'msg_no',
    }),
    event('epoch.opened', {
      epochId: 'epo_3',
      epoch: 1,
      worktreeId: 'w',
      capture: 'scan',
      messageId: 'msg_1',
      callId: 'c_no',
    }),
    event('input.delivered', { messageId: 'msg_no', turnId: 'trn_1' }),
  ]
  for (const e of missing) t.equal(s.refuse(inTurn(e)).code, 'dangling_reference', e.type)
  for (const e of [
    event('tool.resolved', { messageId: 'msg_1', callId: 'c', outcome: 'ok', evidence: 'x' }),
    event('part.excluded', { messageId: 'msg_1', partId: 'p', reason: 'r' }),
    event('shell.ended', { messageId: 'msg_no', output: '' }),
  ])
    t.equal(s.refuse({ kind: 'append', events: [e] }).code, 'dangling_reference', e.type)
})

t.test('rule 2: what an event names must be in the state that the event needs', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), event('text.started', { messageId: 'msg_1', partId: 'p1' })))
  t.equal(s.refuse(inTurn(stepStarted('msg_2'))).code, 'wrong_state', 'one step at a time')
  t.equal(
    s.refuse(inTurn(event('reasoning.ended', { messageId: 'msg_1', partId: 'p1', text: '' }))).code,
    'wrong_state',
    'the part is text',
  )
  t.equal(s.refuse(inTurn(stepEnded('stop'))).code, 'wrong_state', 'a part is open')
  s.accept(
    inTurn(event('text.ended', { messageId: 'msg_1', partId: 'p1', text: 'x' }), stepEnded('stop')),
  )
  t.equal(
    s.refuse(inTurn(event('text.ended', { messageId: 'msg_1', partId: 'p2', text: 'x' }))).code,
    'wrong_state',
    'the step has ended',
  )
  s.accept(inTurn(turnEnded()))
  t.equal(
    s.refuse({ kind: 'append', events: [event('session.unarchived', {})] }).code,
    'wrong_state',
  )
})

t.test('rule 2: ids of messages, requests, turns and parts are taken for ever', async (t) => {
  const s = rehearseTurn()
  const open = (requestId: string) =>
    event('request.opened', {
      requestId,
      kind: 'permission',
      permission: { action: 'a', resources: [] },
    })
  s.accept(
    inTurn(
      stepStarted(),
      event('text.ended', { messageId: 'msg_1', partId: 'p1', text: '' }),
      called('c1'),
      settled('c1', 'error'),
      open('req_1'),
    ),
  )
  t.equal(s.refuse({ kind: 'admit', event: prompt('msg_1') }).code, 'duplicate_id')
  t.equal(
    s.refuse(inTurn(event('text.ended', { messageId: 'msg_1', partId: 'p1', text: '' }))).code,
    'duplicate_id',
  )
  t.equal(
    s.refuse(inTurn(event('text.started', { messageId: 'msg_1', partId: 'c1' }))).code,
    'duplicate_id',
  )
  t.equal(s.refuse(inTurn(open('req_1'))).code, 'duplicate_id')
  s.accept(inTurn(turnEnded()))
  t.equal(s.refuse({ ...startTurn('trn_1'), eventId: 'evt_other' } as never).code, 'duplicate_id')
  t.equal(s.refuse({ kind: 'create', event: event('session.created', {}) }).code, 'duplicate_id')
})

t.test('ids that are names of Object.prototype are ids like any other', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted('constructor')))
  t.equal(
    s.refuse(inTurn(event('tool.dispatched', { messageId: 'constructor', callId: 'toString' })))
      .code,
    'dangling_reference',
  )
  s.accept(inTurn(event('text.started', { messageId: 'constructor', partId: '__proto__' })))
  s.accept(inTurn(event('text.ended', { messageId: 'constructor', partId: '__proto__', text: '' })))
  t.equal(
    s.refuse({ kind: 'cancel-input', messageId: 'valueOf', eventId: 'e' }).code,
    'input_not_found',
  )
})

t.test('a command that is refused at its last event changes nothing', async (t) => {
  const s = rehearseTurn()
  const before = s.session
  t.equal(
    s.refuse(inTurn(stepStarted(), called('c1'), stepEnded('tool-calls'))).code,
    'open_tool_calls',
  )
  t.same(s.session, before)
})

t.test(
  'case 50: of a batch that is known in half, the known half is answered and the rest decided',
  async (t) => {
    const s = rehearse()
    s.accept({ kind: 'create', event: event('session.created', {}) })
    const [a, b, c] = [1, 2, 3].map((n) => event('session.renamed', { title: `${n}` }))
    s.accept({ kind: 'append', events: [a!, c!] })
    const again = s.accept({ kind: 'append', events: [a!, b!, c!] })
    t.same(again.outcome.events, [
      { eventId: a!.eventId, seq: 2, duplicate: true },
      { eventId: b!.eventId, seq: 4 },
      { eventId: c!.eventId, seq: 3, duplicate: true },
    ])
    t.match(again.outcome, { firstSeq: 2, lastSeq: 4, headSeq: 4, added: 1, duplicates: 2 })
  },
)

t.test(
  'case 50: the same event id with other content is refused, with the same content in another order of keys it is not',
  async (t) => {
    const s = rehearse()
    s.accept({ kind: 'create', event: event('session.created', {}) })
    const set = (value: object) =>
      event('session.metadata.updated', { set: { value } }, { eventId: 'evt_same' })
    s.accept({ kind: 'append', events: [set({ a: 1, b: 2 })] })
    t.equal(s.accept({ kind: 'append', events: [set({ b: 2, a: 1 })] }).outcome.duplicates, 1)
    const refusal = s.refuse({ kind: 'append', events: [set({ a: 1, b: 3 })] })
    t.equal(refusal.code, 'event_id_reused')
    t.same(refusal.members, { eventId: 'evt_same', seq: 2 })
    const twice = [
      event('session.renamed', { title: '1' }, { eventId: 'evt_t' }),
      event('session.renamed', { title: '2' }, { eventId: 'evt_t' }),
    ]
    t.equal(s.refuse({ kind: 'append', events: twice }).code, 'event_id_reused')
  },
)

t.test('the expected head is compared once, with the head before the call', async (t) => {
  const s = rehearse()
  s.accept({ kind: 'create', event: event('session.created', {}) })
  const rename = () => event('session.renamed', { title: 'x' })
  s.accept({ kind: 'append', events: [rename(), rename()], expectedSeq: 1 })
  t.same(s.refuse({ kind: 'append', events: [rename()], expectedSeq: 1 }).members, { headSeq: 3 })
  t.equal(s.refuse({ kind: 'append', events: [rename()], ifMatch: 2 }).code, 'precondition_failed')
  s.accept({ kind: 'append', events: [rename()], ifMatch: 3 })
})
