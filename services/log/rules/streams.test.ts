import t from 'tap'
import { ask, answer, failed, retried, told } from '../../../test/harness/owner-acts.ts'
import {
  called,
  dispatched,
  event,
  inTurn,
  rehearseTurn,
  settled,
  stepEnded,
  stepStarted,
  tokens,
} from '../../../test/harness/rehearsal.ts'

t.test('rule 15: a step ends with every finish that the store knows', async () => {
  for (const finish of ['stop', 'tool-calls', 'length', 'content-filter', 'refusal']) {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), stepEnded(finish)))
  }
})

// Case 11.
t.test('rule 15: without a finish a step does not end, and fails as incomplete', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted()))
  const none = event('step.ended', { messageId: 'msg_1', cost: 0, tokens })
  for (const ended of [none, stepEnded('other'), stepEnded('unknown'), stepEnded('Stop')]) {
    t.equal(s.refuse(inTurn(ended)).code, 'incomplete_stream')
  }
  s.accept(inTurn(failed('incomplete')))
})

t.test('rule 15: a finish that was streamed makes none that was left out', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), event('step.streamed', { messageId: 'msg_1', finish: 'stop' })))
  const none = event('step.ended', { messageId: 'msg_1', cost: 0, tokens })
  t.equal(s.refuse(inTurn(none)).code, 'incomplete_stream')
})

// Case 15.
t.test('rule 12: a call that is unsettled in any way keeps its step open', async (t) => {
  const input = { messageId: 'msg_1', callId: 'c1' }
  const ways = {
    streaming: [event('tool.input.started', { ...input, name: 'x' })],
    streamed: [event('tool.input.ended', { ...input, text: '{}' })],
    called: [called('c1')],
    waiting: [called('c1'), ask('req_1', 'c1')],
    dispatched: [called('c1'), dispatched('c1')],
    provider: [called('c1', 'read', 'provider')],
  }
  for (const [way, events] of Object.entries(ways)) {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), ...events))
    const refusal = s.refuse(inTurn(stepEnded('tool-calls')))
    t.equal(refusal.code, 'open_tool_calls', way)
    t.same(refusal.members, { callIds: ['c1'] }, way)
    s.accept(inTurn(settled('c1', 'error'), stepEnded('tool-calls')))
  }
})

t.test('rule 12: a step that fails settles its calls by what was dispatched', async (t) => {
  const s = rehearseTurn()
  s.accept(
    inTurn(
      stepStarted(),
      event('tool.input.started', { messageId: 'msg_1', callId: 'c0', name: 'x' }),
      called('c1'),
      called('c2', 'read'),
      dispatched('c2'),
      called('c3'),
      ask('req_1', 'c3'),
      called('c4'),
      ask('req_2', 'c4'),
      called('c5', 'read', 'provider'),
    ),
  )
  s.accept(answer('req_2', { answers: [['yes']] }))
  s.accept(inTurn(failed()))
  t.same(told(s), [
    'request.closed cancelled',
    'tool.settled cancelled',
    'tool.settled cancelled',
    'tool.settled unknown',
    'tool.settled cancelled',
    'tool.settled cancelled',
    'tool.settled unknown',
    'step.failed provider',
  ])
  t.equal(s.session.state.step, undefined)
  t.equal(s.session.state.requests, undefined)
})

t.test(
  'rule 10: a call is dispatched when it was called, once, and while it waits for nobody',
  async (t) => {
    const s = rehearseTurn()
    const input = { messageId: 'msg_1', callId: 'c1' }
    s.accept(inTurn(stepStarted(), event('tool.input.started', { ...input, name: 'x' })))
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state', 'its input is arriving')
    s.accept(inTurn(event('tool.input.ended', { ...input, text: '{}' })))
    t.equal(s.refuse(inTurn(event('tool.input.ended', { ...input, text: '' }))).code, 'wrong_state')
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state', 'it is not called yet')
    s.accept(inTurn(called('c1'), dispatched('c1')))
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state')
    s.accept(inTurn(settled('c1')))
  },
)

t.test(
  'rule 10: a call that settled in an attempt is settled for that attempt alone',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1', 'read'), settled('c1', 'error'), retried(2)))
    t.equal(s.refuse(inTurn(settled('c1', 'error'))).code, 'dangling_reference')
    s.accept(inTurn(called('c1', 'read'), settled('c1', 'error')))
  },
)
