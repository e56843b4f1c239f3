import type { Act } from '../command.ts'
import t from 'tap'
import type { EventData } from '../../../schema/events/event-table.ts'
import {
  ask,
  by,
  claim,
  failed,
  interrupt,
  lose,
  retried,
  setClock,
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
  rehearseTurn,
  startTurn,
  stepStarted,
  turnEnded,
  type Rehearsal,
} from '../../../test/harness/rehearsal.ts'

const end = (s: Rehearsal) => s.log.at(-1)?.data as EventData<'turn.ended'>
const endDue = { kind: 'end-interrupted', turnId: 'trn_1', eventId: 'evt_due' } as const
const failTurn = (incarnation = 1) =>
  ({
    kind: 'fail-turn',
    turnId: 'trn_1',
    ownerId: 'own_1',
    incarnation,
    reason: 'crash',
    eventId: 'evt_fail',
  }) as const

t.test('rule 9: the owner’s end of a turn carries the reason and author of its stop', async (t) => {
  for (const outcome of ['interrupted', 'failed', 'completed'] as const) {
    const s = rehearseTurn()
    s.accept(interrupt('stop', 60_000))
    s.accept(interrupt('again', 60_000))
    const error = { kind: 'provider' as const, message: 'm' }
    s.accept(inTurn(event('turn.ended', { turnId: 'trn_1', outcome, fence: 1, error })))
    t.same(
      end(s),
      {
        turnId: 'trn_1',
        outcome: outcome === 'completed' ? 'completed' : 'interrupted',
        fence: 1,
        error,
        interrupt: { reason: 'stop', by },
      },
      outcome,
    )
  }
})

t.test('rule 9: an interruption needs no turnId and no fence, and fences nobody', async (t) => {
  const s = rehearseTurn()
  s.accept({ kind: 'interrupt-turn', reason: 'stop', by, eventId: 'evt_i' })
  t.same(told(s), ['turn.interrupt.requested stop'])
  s.accept(inTurn(stepStarted()))
  t.equal(s.session.state.fence, 1)
})

t.test('rule 9: a second interruption changes neither reason nor author', async (t) => {
  const s = rehearseTurn()
  s.accept(interrupt('first'))
  s.accept({ ...interrupt('second'), by: { subject: 'bob' } } as never)
  t.equal(s.last.length, 0, 'it is not even recorded')
  s.accept(inTurn(turnEnded('interrupted')))
  t.same(end(s).interrupt, { reason: 'first', by })
})

// Case 14.
t.test(
  'rule 9: a stop during a retry’s back-off ends the turn as interrupted, though the clean-up fails',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), retried(2)))
    s.accept(interrupt('stop', 60_000))
    s.accept(inTurn(failed('provider')))
    const error = { kind: 'internal' as const, message: 'clean-up' }
    s.accept(inTurn(event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 1, error })))
    t.match(end(s), { outcome: 'interrupted', interrupt: { reason: 'stop', by }, error })
  },
)

t.test(
  'rule 9: without grace, or with the owner gone, the store ends the turn at once',
  async (t) => {
    for (const way of ['at once', 'lost', 'superseded', 'released'] as const) {
      const s = rehearseTurn()
      s.accept(inTurn(stepStarted(), called('c1'), dispatched('c1')))
      if (way === 'lost') lose(s)
      if (way === 'superseded') s.owners.set('own_1', { ...aliveOwner, incarnation: 2 })
      if (way === 'released')
        s.accept({ kind: 'release-turn', turnId: 'trn_1', fence: 1, eventId: 'evt_r' })
      const { fence } = s.session.state
      s.accept(interrupt('stop', way === 'at once' ? 0 : 60_000))
      t.same(
        told(s),
        [
          'turn.interrupt.requested stop',
          'tool.settled unknown',
          'step.failed aborted',
          'turn.ended interrupted',
        ],
        way,
      )
      t.match(end(s), {
        outcome: 'interrupted',
        interrupt: { reason: 'stop', by },
        fence: fence + 1,
      })
      const late = s.refuse(underFence(fence, turnEnded()))
      t.equal(late.code, 'fenced', 'the store raised the fence')
      t.match(late.members, { turnId: 'trn_1', fence: fence + 1, outcome: 'interrupted' })
      t.equal(s.session.state.fence, fence + 1)
    }
  },
)

t.test('rule 9: while its grace lasts an interrupted turn is its owner’s', async (t) => {
  const s = rehearseTurn()
  setClock(s, 1_000)
  s.accept(interrupt('stop', 500))
  setClock(s, 1_499)
  t.equal(s.refuse(endDue).code, 'wrong_state')
  s.accept(inTurn(stepStarted()))
  setClock(s, 1_500)
  s.accept(endDue)
  t.match(end(s), { outcome: 'interrupted', fence: 2, interrupt: { reason: 'stop', by } })
})

t.test('rule 9: a later interruption can hurry the end and never put it off', async (t) => {
  const s = rehearseTurn()
  setClock(s, 0)
  s.accept(interrupt('first', 10_000))
  setClock(s, 5_000)
  s.accept(interrupt('shorter, and yet later', 9_000))
  t.equal(s.last.length, 0)
  s.accept(interrupt('sooner', 1_000))
  setClock(s, 5_999)
  t.equal(s.refuse(endDue).code, 'wrong_state')
  setClock(s, 6_000)
  s.accept(endDue)
  t.same(end(s).interrupt, { reason: 'first', by })
})

t.test('rule 9: the grace that was given first lasts, whatever comes after it', async () => {
  const s = rehearseTurn()
  setClock(s, 0)
  s.accept(interrupt('first', 10_000))
  setClock(s, 5_000)
  s.accept(interrupt('shorter, and yet later', 9_000))
  setClock(s, 10_000)
  s.accept(endDue)
})

t.test(
  'rule 9: a turn is ended by the store only if a stop was asked for and is due',
  async (t) => {
    const s = rehearseTurn()
    t.equal(s.refuse(endDue).code, 'wrong_state', 'nobody asked')
    s.accept(interrupt('stop'))
    setClock(s, 1e12)
    t.equal(s.refuse(endDue).code, 'wrong_state', 'no grace was given: its owner ends it')
    lose(s)
    s.accept(endDue)
    t.equal(s.refuse(endDue).code, 'turn_settled')
    t.equal(s.refuse(interrupt('late')).code, 'turn_settled')
    t.equal(s.refuse({ ...interrupt('x'), turnId: 'trn_9' } as never).code, 'turn_not_found')
    t.equal(
      s.refuse({ kind: 'interrupt-turn', reason: 'x', by, eventId: 'evt_x' }).code,
      'no_turn',
      'and none is active',
    )
  },
)

t.test(
  'rule 9: who takes an interrupted turn over learns of it, and its end says it',
  async (t) => {
    const s = rehearseTurn()
    s.accept(interrupt('stop', 60_000))
    t.equal(takeOver(s).interrupted, true)
    s.accept(underFence(2, event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 2 })))
    t.match(end(s), { outcome: 'interrupted', interrupt: { reason: 'stop', by } })
  },
)

t.test('rule 9: a delete ends an interrupted turn with the reason and author too', async (t) => {
  const s = rehearseTurn()
  s.accept(interrupt('stop', 60_000))
  s.accept({ kind: 'delete', eventId: 'evt_d' })
  t.match(s.last[0], {
    type: 'turn.ended',
    data: {
      outcome: 'interrupted',
      stopReason: 'session_deleted',
      interrupt: { reason: 'stop', by },
    },
  })
})

t.test('rule 5: the turn of an owner that has exited is failed under a higher fence', async (t) => {
  const s = rehearseTurn()
  t.equal(s.refuse(failTurn()).code, 'wrong_state', 'its owner lives')
  lose(s)
  t.equal(s.refuse({ ...failTurn(), ownerId: 'own_2' }).code, 'wrong_state')
  s.accept(failTurn())
  t.match(end(s), {
    outcome: 'failed',
    fence: 2,
    stopReason: 'owner_exited',
    error: { kind: 'aborted', message: 'crash' },
  })
  t.equal(s.refuse(inTurn(turnEnded())).code, 'fenced')
  t.equal(s.accept({ ...startTurn('trn_2'), ownerId: 'own_2' } as Act).outcome.turn?.fence, 3)
})

t.test('rule 9: a turn that was to be interrupted is not failed with its owner', async (t) => {
  const s = rehearseTurn()
  s.accept(interrupt('stop', 60_000))
  lose(s)
  s.accept(failTurn())
  t.match(end(s), { outcome: 'interrupted', interrupt: { reason: 'stop', by } })
})

t.test(
  'a turn that was claimed, released or started since is not failed with its owner',
  async (t) => {
    const released = rehearseTurn()
    released.accept({ kind: 'release-turn', turnId: 'trn_1', fence: 1, eventId: 'evt_r' })
    lose(released)
    t.equal(released.refuse(failTurn()).code, 'wrong_state')
    const taken = rehearseTurn()
    lose(taken)
    taken.accept(claim(1))
    t.equal(taken.refuse(failTurn()).code, 'wrong_state')
    const later = rehearseTurn()
    later.accept(inTurn(turnEnded()))
    later.owners.set('own_1', { ...aliveOwner, incarnation: 2 })
    later.accept({ ...startTurn('trn_2'), incarnation: 2 } as never)
    lose(later)
    t.equal(later.refuse({ ...failTurn(), turnId: 'trn_2' }).code, 'wrong_state')
  },
)

// Case 19.
t.test(
  'rule 7: a turn that is stopped while an approval waits closes it, and the next input is admitted',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), ask('req_1', 'c1')))
    s.accept(interrupt('stop', 0))
    t.same(told(s), [
      'turn.interrupt.requested stop',
      'request.closed cancelled',
      'tool.settled cancelled',
      'step.failed aborted',
      'turn.ended interrupted',
    ])
    s.accept({ kind: 'admit', event: prompt('msg_2') })
    s.accept(startTurn('trn_2', ['msg_2']))
  },
)

// Case 13.
t.test('rule 6: a failed turn is not run again: the refusal is its stored failure', async (t) => {
  const s = rehearseTurn()
  lose(s)
  s.accept(failTurn())
  for (const again of [underFence(2, stepStarted()), claim(2), interrupt('x')]) {
    const refusal = s.refuse(again)
    t.equal(refusal.code, 'turn_settled', again.kind)
    t.same(refusal.members, {
      turnId: 'trn_1',
      outcome: 'failed',
      stopReason: 'owner_exited',
      errorKind: 'aborted',
    })
  }
})
