import t from 'tap'
import { failed, keyed, retried, takeOver, underFence } from '../../../test/harness/owner-acts.ts'
import {
  dispatched,
  event,
  inTurn,
  rehearseTurn,
  settled,
  stepEnded,
  stepStarted,
  type Rehearsal,
} from '../../../test/harness/rehearsal.ts'

const key = 'pay-7'

/** A step in which call c1 has the effect, and settled so. */
const after = (outcome?: 'ok' | 'error' | 'denied' | 'cancelled' | 'unknown'): Rehearsal => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), keyed('c1', key), dispatched('c1')))
  if (outcome) s.accept(inTurn(settled('c1', outcome)))
  return s
}

const resolve = (callId: string, outcome: 'ok' | 'error') => ({
  kind: 'append' as const,
  events: [event('tool.resolved', { messageId: 'msg_1', callId, outcome, evidence: 'seen' })],
})

t.test(
  'rule 10: an effect that an earlier call has under way, has had or may have had is not repeated',
  async (t) => {
    for (const outcome of [undefined, 'ok', 'unknown'] as const) {
      const s = after(outcome)
      const refusal = s.refuse(inTurn(keyed('c2', key)))
      t.equal(refusal.code, 'effect_repeated', outcome ?? 'dispatched')
      t.same(refusal.members, {
        effectKey: key,
        messageId: 'msg_1',
        callId: 'c1',
        outcome: outcome ?? 'dispatched',
      })
      s.accept(inTurn(keyed('c2', 'pay-8')))
    }
  },
)

t.test('rule 10: an effect that was not had may be tried again', async (t) => {
  for (const outcome of ['error', 'denied', 'cancelled'] as const) {
    const s = after(outcome)
    s.accept(inTurn(keyed('c2', key), dispatched('c2')))
    t.equal(s.refuse(inTurn(keyed('c3', key))).members.callId, 'c2', outcome)
  }
})

t.test('rule 10: a call that was never dispatched holds no effect', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), keyed('c1', key), keyed('c2', key)))
  s.accept(inTurn(dispatched('c2')))
  t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'effect_repeated', 'of two that wait one goes')
  s.accept(inTurn(settled('c1', 'denied')))
  t.equal(
    s.refuse(inTurn(keyed('c3', key))).members.callId,
    'c2',
    'and what it says changes nothing',
  )
})

t.test(
  'rule 10: repeats says that the repetition is meant, of the call that it names',
  async (t) => {
    const s = after('ok')
    t.equal(s.refuse(inTurn(keyed('c2', key, { repeats: 'c9' }))).code, 'effect_repeated')
    s.accept(inTurn(keyed('c2', key, { repeats: 'c1' }), dispatched('c2'), settled('c2')))
    t.equal(
      s.refuse(inTurn(keyed('c3', key, { repeats: 'c1' }))).members.callId,
      'c2',
      'c1 has been repeated: another repetition is of c2',
    )
    s.accept(inTurn(keyed('c3', key, { repeats: 'c2' })))
  },
)

t.test('rule 10: a repetition that failed leaves the effect had that it repeated', async (t) => {
  for (const first of ['ok', 'unknown'] as const) {
    const s = after(first)
    s.accept(inTurn(keyed('c2', key, { repeats: 'c1' }), dispatched('c2'), settled('c2', 'error')))
    const refusal = s.refuse(inTurn(keyed('c3', key)))
    t.equal(refusal.code, 'effect_repeated', first)
    t.equal(refusal.members.callId, 'c1')
    s.accept(inTurn(keyed('c3', key, { repeats: 'c1' })))
  }
})

t.test('rule 10: a call that settles does not hide the one that repeats it', async (t) => {
  const s = after()
  s.accept(inTurn(keyed('c2', key, { repeats: 'c1' }), dispatched('c2')))
  s.accept(inTurn(settled('c1', 'error')))
  t.equal(s.refuse(inTurn(keyed('c3', key))).members.callId, 'c2', 'it is still under way')
})

t.test('rule 10: what was found out of an unknown call counts', async (t) => {
  const s = after('unknown')
  s.accept(resolve('c1', 'error'))
  s.accept(inTurn(keyed('c2', key)))
  const had = after('unknown')
  had.accept(resolve('c1', 'ok'))
  const refusal = had.refuse(inTurn(keyed('c2', key)))
  t.match(refusal.members, { callId: 'c1', outcome: 'ok' })
})

t.test(
  'rule 10: what was found out of a call says nothing of the one that repeats it',
  async (t) => {
    const s = after('unknown')
    s.accept(inTurn(keyed('c2', key, { repeats: 'c1' }), dispatched('c2')))
    s.accept(resolve('c1', 'error'))
    t.equal(s.refuse(inTurn(keyed('c3', key))).members.callId, 'c2')
  },
)

t.test('rule 10: what was found out of an attempt says nothing of the next', async (t) => {
  const s = rehearseTurn()
  const read = keyed('c1', key, { effect: 'read' })
  s.accept(inTurn(stepStarted(), read, dispatched('c1'), settled('c1', 'unknown'), retried(2)))
  s.accept(inTurn(keyed('c1', key), dispatched('c1')))
  s.accept(resolve('c1', 'error'))
  t.equal(s.refuse(inTurn(keyed('c2', key))).members.callId, 'c1', 'it is still under way')
})

t.test('rule 10: an effect outlives its step and its owner', async (t) => {
  const failing = after()
  failing.accept(inTurn(failed(), stepStarted('msg_2')))
  const later = (callId: string) => keyed(callId, key, { messageId: 'msg_2' })
  t.equal(failing.refuse(inTurn(later('c2'))).members.outcome, 'unknown')
  const ending = after('ok')
  ending.accept(inTurn(stepEnded('tool-calls'), stepStarted('msg_2')))
  t.equal(ending.refuse(inTurn(later('c1'))).code, 'effect_repeated', 'under the same callId too')
  const lost = after()
  takeOver(lost)
  lost.accept(underFence(2, stepStarted('msg_2')))
  t.equal(lost.refuse(underFence(2, later('c2'))).members.outcome, 'unknown')
})

t.test('rule 10: what a provider runs is under way with its call', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), keyed('c1', key, { executedBy: 'provider' })))
  t.equal(s.refuse(inTurn(keyed('c2', key))).members.callId, 'c1')
  s.accept(inTurn(dispatched('c1')))
  s.accept(inTurn(settled('c1', 'error'), keyed('c2', key)))
})

t.test('rule 10: only a call whose effect is once holds its key', async () => {
  const s = rehearseTurn()
  const read = keyed('c1', key, { effect: 'read' })
  const idempotent = keyed('c2', key, { effect: 'idempotent' })
  s.accept(inTurn(stepStarted(), read, dispatched('c1'), settled('c1')))
  s.accept(inTurn(idempotent, dispatched('c2'), settled('c2')))
  s.accept(inTurn(keyed('c3', key), dispatched('c3')))
  s.accept(inTurn(keyed('c4', key, { effect: 'read' })))
})

// Case 9.
t.test(
  'rule 10: a call whose result was lost is unknown after its step, and is not dispatched again',
  async (t) => {
    const s = after()
    s.accept(inTurn(failed('transport')))
    t.match(s.last[0], { type: 'tool.settled', data: { callId: 'c1', outcome: 'unknown' } })
    s.accept(inTurn(stepStarted('msg_2')))
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state')
    t.equal(s.refuse(inTurn(keyed('c9', key, { messageId: 'msg_2' }))).code, 'effect_repeated')
  },
)
