import t from 'tap'
import { ask, failed, retried, told } from '../../../test/harness/owner-acts.ts'
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

const text = (partId: string, more: { mustStay?: boolean; messageId?: string } = {}) =>
  event('text.ended', { messageId: 'msg_1', partId, text: 'x', ...more })

// Case 9.
t.test(
  'rule 13: a retry is vetoed if the attempt dispatched a once call, whatever became of it',
  async (t) => {
    for (const outcome of [undefined, 'ok', 'error', 'unknown'] as const) {
      const s = rehearseTurn()
      s.accept(inTurn(stepStarted(), called('c0', 'read'), dispatched('c0')))
      s.accept(inTurn(called('c1'), dispatched('c1')))
      if (outcome) s.accept(inTurn(settled('c1', outcome)))
      const head = s.session.head
      const refusal = s.refuse(inTurn(retried(2)))
      t.equal(refusal.code, 'replay_vetoed')
      t.same(refusal.members, { messageId: 'msg_1', callId: 'c1' }, 'and names the cause')
      t.equal(s.session.head, head, 'nothing was closed')
      s.accept(inTurn(failed()))
    }
  },
)

t.test('rule 13: a retry is vetoed if a provider ran a once call in the attempt', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1', 'once', 'provider')))
  t.same(s.refuse(inTurn(retried(2))).members, { messageId: 'msg_1', callId: 'c1' })
})

t.test('rule 13: a retry is vetoed if the attempt ended a part that must stay', async (t) => {
  for (const kind of ['text', 'reasoning'] as const) {
    const s = rehearseTurn()
    const part = { messageId: 'msg_1', partId: 'p1' }
    s.accept(inTurn(stepStarted(), event(`${kind}.started`, part)))
    s.accept(inTurn(event(`${kind}.ended`, { ...part, text: '', mustStay: true })))
    const refusal = s.refuse(inTurn(retried(2)))
    t.equal(refusal.code, 'replay_vetoed')
    t.same(refusal.members, { messageId: 'msg_1', partId: 'p1' })
  }
})

t.test('rule 13: reads, idempotent calls and calls that did not run veto nothing', async () => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1', 'read'), dispatched('c1'), text('p1')))
  s.accept(inTurn(called('c2', 'idempotent'), dispatched('c2'), settled('c2')))
  s.accept(inTurn(called('c3', 'read', 'provider'), called('c4')))
  s.accept(inTurn(retried(2)))
})

t.test('rule 13: the veto is of the attempt that did it, not of the step before', async () => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), dispatched('c1'), settled('c1')))
  s.accept(inTurn(stepEnded('tool-calls'), stepStarted('msg_2')))
  const again = { attempt: 2, error: { kind: 'provider' as const, message: '' } }
  s.accept(inTurn(event('step.retried', { messageId: 'msg_2', ...again })))
})

t.test('rule 13: a retry closes what the attempt left open, in the same append', async (t) => {
  const s = rehearseTurn()
  s.accept(
    inTurn(
      stepStarted(),
      event('text.started', { messageId: 'msg_1', partId: 'p1' }),
      event('reasoning.started', { messageId: 'msg_1', partId: 'p2' }),
      called('c1', 'read'),
      dispatched('c1'),
      called('c2'),
      called('c3'),
      ask('req_1', 'c3'),
      event('tool.input.started', { messageId: 'msg_1', callId: 'c4', name: 'x' }),
      called('c5', 'read', 'provider'),
    ),
  )
  s.accept(inTurn(retried(2)))
  t.same(told(s), [
    'request.closed superseded',
    'tool.settled unknown',
    'tool.settled cancelled',
    'tool.settled cancelled',
    'tool.settled cancelled',
    'tool.settled unknown',
    'text.ended true',
    'reasoning.ended true',
    'step.retried provider',
  ])
  t.ok(s.last.slice(0, -1).every((e) => e.derived && e.meta.turnId === 'trn_1'))
  t.same(s.session.state.step, { messageId: 'msg_1', attempt: 2 })
})

t.test(
  'rule 13: a retry replaces the attempt: neither step.failed nor a second start',
  async (t) => {
    const s = rehearseTurn()
    t.equal(s.refuse(inTurn(retried(2))).code, 'dangling_reference', 'nothing to try again')
    s.accept(inTurn(stepStarted()))
    t.equal(s.refuse(inTurn(retried(3))).code, 'wrong_state', 'attempts are counted without gaps')
    t.equal(s.refuse(inTurn(retried(1))).code, 'wrong_state')
    s.accept(inTurn(retried(2)))
    t.equal(s.refuse(inTurn(stepStarted())).code, 'wrong_state')
    s.accept(inTurn(failed()))
    t.equal(
      s.refuse(inTurn(retried(3))).code,
      'wrong_state',
      'a step that failed is not tried again',
    )
    const second = {
      messageId: 'msg_2',
      attempt: 2,
      agent: 'a',
      model: { modelId: 'm', providerId: 'p' },
    }
    t.equal(s.refuse(inTurn(event('step.started', second))).code, 'wrong_state')
  },
)

t.test('rule 13: part ids are an attempt’s own', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), text('p1'), called('c1', 'read')))
  s.accept(inTurn(retried(2), text('p1'), called('c1', 'read')))
  t.equal(s.refuse(inTurn(text('p1'))).code, 'duplicate_id')
  s.accept(inTurn(dispatched('c1'), settled('c1'), stepEnded('stop')))
})
