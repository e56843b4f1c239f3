import t from 'tap'
import { failed, retried, underFence } from '../../../test/harness/owner-acts.ts'
import {
  called,
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

const fail = (messageId: string) =>
  event('step.failed', { messageId, error: { kind: 'incomplete', message: 'm' } })

/** Fails that many steps in a row. */
const failSteps = (s: Rehearsal, count: number, from = 1): void => {
  for (let n = from; n < from + count; n += 1) {
    s.accept(inTurn(stepStarted(`msg_f${n}`), fail(`msg_f${n}`)))
  }
}

// Case 11.
t.test('rule 14: five failed steps in a row are all that a turn has', async (t) => {
  const s = rehearseTurn()
  failSteps(s, 5)
  const refusal = s.refuse(inTurn(stepStarted('msg_6')))
  t.equal(refusal.code, 'attempts_spent')
  t.same(refusal.members, { turnId: 'trn_1', attempts: 5 })
  s.accept(inTurn(turnEnded('failed')))
  s.accept(startTurn('trn_2'))
  s.accept({ kind: 'append', turnId: 'trn_2', fence: 2, events: [stepStarted('msg_7')] })
})

t.test('rule 14: attempts that failed count like steps that failed', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), retried(2), retried(3), failed()))
  s.accept(inTurn(stepStarted('msg_2'), fail('msg_2')))
  s.accept(inTurn(stepStarted('msg_3')))
  const again = { attempt: 2, error: { kind: 'provider' as const, message: '' } }
  t.equal(
    s.refuse(inTurn(event('step.retried', { messageId: 'msg_3', ...again }))).code,
    'attempts_spent',
    'the fifth may fail, and no sixth begins',
  )
  s.accept(inTurn(fail('msg_3')))
  t.equal(s.refuse(inTurn(stepStarted('msg_4'))).code, 'attempts_spent')
})

t.test('rule 14: of one step five attempts may fail', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), retried(2), retried(3), retried(4), retried(5)))
  t.equal(s.refuse(inTurn(retried(6))).code, 'attempts_spent')
})

t.test(
  'rule 14: a call that its owner settled, or a step that ended, begins the count anew',
  async (t) => {
    for (const way of ['settled', 'ended'] as const) {
      const s = rehearseTurn()
      failSteps(s, 4)
      s.accept(inTurn(stepStarted()))
      if (way === 'settled') s.accept(inTurn(called('c1'), settled('c1', 'denied'), failed()))
      else s.accept(inTurn(stepEnded('stop')))
      failSteps(s, way === 'settled' ? 4 : 5, 5)
      t.equal(s.refuse(inTurn(stepStarted('msg_9'))).code, 'attempts_spent', way)
    }
  },
)

t.test('rule 14: calls that the store settles begin nothing anew', async (t) => {
  const s = rehearseTurn()
  failSteps(s, 4)
  s.accept(inTurn(stepStarted(), called('c1'), failed()))
  t.equal(s.refuse(inTurn(stepStarted('msg_9'))).code, 'attempts_spent')
})

t.test('rule 14: the budget can be set', async (t) => {
  const s = rehearseTurn()
  s.limits = { mostFailures: 1 }
  s.accept(inTurn(stepStarted()))
  t.equal(s.refuse(inTurn(retried(2))).code, 'attempts_spent')
  s.accept(inTurn(failed()))
  t.equal(s.refuse(inTurn(stepStarted('msg_2'))).code, 'attempts_spent')
})

const compaction = (n: number, reason: 'auto' | 'manual' | 'overflow') =>
  event('compaction.started', { compactionId: `cmp_${n}`, messageId: `msg_c${n}`, reason })
const compacted = (n: number, tokensBefore: number, tokensAfter: number) =>
  event('compaction.ended', { compactionId: `cmp_${n}`, summary: 's', tokensBefore, tokensAfter })

// Case 12.
t.test('rule 16: a turn recovers from an overflow once', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(compaction(1, 'overflow'), compacted(1, 9, 1)))
  t.equal(s.refuse(inTurn(compaction(2, 'overflow'))).code, 'overflow_recovery_spent')
  s.accept(inTurn(compaction(2, 'auto'), compacted(2, 9, 1)))
  s.accept(inTurn(compaction(3, 'manual'), compacted(3, 9, 1)))
  const error = { kind: 'overflow' as const, message: 'm' }
  s.accept(inTurn(event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 1, error })))
  t.equal(s.refuse(inTurn(stepStarted())).members.errorKind, 'overflow')
  s.accept(startTurn('trn_2'))
  s.accept({ kind: 'append', turnId: 'trn_2', fence: 2, events: [compaction(4, 'overflow')] })
})

t.test('rule 16: a recovery that failed is spent too', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(compaction(1, 'overflow')))
  s.accept(inTurn(event('compaction.failed', { compactionId: 'cmp_1' })))
  t.equal(s.refuse(inTurn(compaction(2, 'overflow'))).code, 'overflow_recovery_spent')
})

t.test('rule 16: after a compaction that shrank nothing no automatic one starts', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(compaction(1, 'manual'), compacted(1, 9, 9)))
  t.equal(s.refuse(inTurn(compaction(2, 'auto'))).code, 'compaction_futile')
  t.equal(s.refuse(inTurn(compaction(2, 'overflow'))).code, 'compaction_futile')
  s.accept(inTurn(turnEnded()))
  s.accept(startTurn('trn_2'))
  const next = (...events: Parameters<typeof inTurn>) =>
    ({ kind: 'append', turnId: 'trn_2', fence: 2, events }) as const
  t.equal(s.refuse(next(compaction(2, 'auto'))).code, 'compaction_futile', 'in the next turn too')
  s.accept(next(compaction(2, 'manual'), compacted(2, 9, 8)))
  s.accept(next(compaction(3, 'auto')))
})

t.test('rule 16: once a message was added an automatic compaction may help again', async (t) => {
  const ways: Record<string, (s: Rehearsal) => void> = {
    'a prompt': (s) => {
      s.accept({ kind: 'admit', event: prompt('msg_2', 'steer') })
      t.equal(s.refuse(inTurn(compaction(2, 'auto'))).code, 'compaction_futile', 'it waits')
      s.accept(inTurn(event('input.delivered', { messageId: 'msg_2', turnId: 'trn_1' })))
    },
    'a step': (s) => s.accept(inTurn(stepStarted(), stepEnded('stop'))),
    'a note': (s) =>
      s.accept({
        kind: 'append',
        events: [event('note.added', { messageId: 'msg_n', role: 'system', text: 'x' })],
      }),
    'a shell': (s) =>
      s.accept({
        kind: 'append',
        events: [
          event('shell.started', { messageId: 'msg_s', command: 'ls' }),
          event('shell.ended', { messageId: 'msg_s', output: '' }),
        ],
      }),
  }
  for (const [way, add] of Object.entries(ways)) {
    const s = rehearseTurn()
    s.accept(inTurn(compaction(1, 'auto'), compacted(1, 9, 12)))
    t.equal(s.refuse(inTurn(compaction(2, 'auto'))).code, 'compaction_futile', way)
    add(s)
    s.accept(inTurn(compaction(2, 'auto')))
  }
})

t.test('rule 16: a compaction that failed says nothing of whether another would help', async () => {
  const s = rehearseTurn()
  s.accept(inTurn(compaction(1, 'auto'), event('compaction.failed', { compactionId: 'cmp_1' })))
  s.accept(underFence(1, compaction(2, 'auto')))
})
