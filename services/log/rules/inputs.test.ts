import t from 'tap'
import { takeOver, underFence } from '../../../test/harness/owner-acts.ts'
import {
  event,
  inTurn,
  prompt,
  rehearse,
  rehearseTurn,
  startTurn,
  turnEnded,
} from '../../../test/harness/rehearsal.ts'

const delivered = (messageId: string, turnId = 'trn_1') =>
  event('input.delivered', { messageId, turnId })
const change = (messageId: string, delivery: 'steer' | 'queue') =>
  ({ kind: 'change-input', messageId, delivery, eventId: `evt_${delivery}_${messageId}` }) as const

t.test(
  'rule 8: a turn takes up several inputs, in their order, in the append of its start',
  async (t) => {
    const s = rehearse()
    s.accept({ kind: 'create', event: event('session.created', {}) })
    for (const id of ['msg_a', 'msg_b', 'msg_c']) s.accept({ kind: 'admit', event: prompt(id) })
    s.accept(startTurn('trn_1', ['msg_b', 'msg_a']))
    t.same(
      s.last.map(({ type, data }) => [type, (data as { messageId?: string }).messageId]),
      [
        ['turn.started', undefined],
        ['input.delivered', 'msg_b'],
        ['input.delivered', 'msg_a'],
      ],
    )
    t.same(Object.keys(s.session.state.inputs ?? {}), ['msg_c'], 'the rest waits')
  },
)

t.test('rule 8: an input is delivered once', async (t) => {
  const s = rehearse()
  s.accept({ kind: 'create', event: event('session.created', {}) })
  s.accept({ kind: 'admit', event: prompt('msg_a', 'steer') })
  t.equal(s.refuse(startTurn('trn_1', ['msg_a', 'msg_a'])).code, 'input_delivered')
  s.accept(startTurn('trn_1', ['msg_a']))
  t.equal(s.refuse(inTurn(delivered('msg_a'))).code, 'input_delivered')
  s.accept(inTurn(turnEnded()))
  t.equal(s.refuse(startTurn('trn_2', ['msg_a'])).code, 'input_delivered')
})

t.test(
  'rule 8: what is to steer is delivered in the turn under way, what is queued is not',
  async (t) => {
    const s = rehearseTurn()
    s.accept({ kind: 'admit', event: prompt('msg_q') })
    t.equal(s.refuse(inTurn(delivered('msg_q'))).code, 'wrong_state')
    s.accept(change('msg_q', 'steer'))
    s.accept({ kind: 'admit', event: prompt('msg_s', 'steer') })
    s.accept(change('msg_s', 'queue'))
    t.equal(s.refuse(inTurn(delivered('msg_s'))).code, 'wrong_state')
    t.equal(s.refuse(inTurn(delivered('msg_q', 'trn_9'))).code, 'wrong_state', 'of another turn')
    s.accept(inTurn(delivered('msg_q')))
    t.equal(s.refuse(change('msg_q', 'queue')).code, 'input_delivered')
  },
)

t.test(
  'rule 8: an input that came to steer waits for the next turn if its turn ends first',
  async () => {
    const s = rehearseTurn()
    s.accept({ kind: 'admit', event: prompt('msg_s', 'steer') })
    s.accept(inTurn(turnEnded()))
    s.accept(startTurn('trn_2', ['msg_s']))
  },
)

t.test(
  'rule 8: a take-over sends no input again, and who takes over steers what waits',
  async (t) => {
    const s = rehearseTurn()
    s.accept({ kind: 'admit', event: prompt('msg_s', 'steer') })
    t.same(takeOver(s).inputs, ['msg_s'])
    t.equal(s.refuse(underFence(2, delivered('msg_user'))).code, 'input_delivered')
    s.accept(underFence(2, delivered('msg_s')))
  },
)

t.test('an input that is meant for a turn is refused when that turn does not run', async (t) => {
  const s = rehearseTurn()
  const meant = (messageId: string, expectedTurnId: string) => ({
    kind: 'admit' as const,
    event: event('input.admitted', {
      messageId,
      kind: 'prompt',
      text: 'x',
      delivery: 'steer',
      expectedTurnId,
    }),
  })
  s.accept(meant('msg_a', 'trn_1'))
  t.equal(s.refuse(meant('msg_b', 'trn_9')).code, 'no_turn')
  s.accept(inTurn(turnEnded('failed')))
  t.match(s.refuse(meant('msg_b', 'trn_1')), {
    code: 'turn_settled',
    members: { outcome: 'failed' },
  })
})

t.test('at most 64 inputs of a session wait', async (t) => {
  const s = rehearseTurn()
  for (let n = 0; n < 64; n += 1) s.accept({ kind: 'admit', event: prompt(`msg_w${n}`) })
  t.equal(s.refuse({ kind: 'admit', event: prompt('msg_w64') }).code, 'too_much_open')
  s.accept({ kind: 'cancel-input', messageId: 'msg_w0', eventId: 'evt_c' })
  s.accept({ kind: 'admit', event: prompt('msg_w64') })
})

// Case 2.
t.test(
  'rule 4: of two that start at once the second learns whose turn it is, and may queue',
  async (t) => {
    const s = rehearseTurn()
    const second = { ...startTurn('trn_2'), ownerId: 'own_2' } as ReturnType<typeof startTurn>
    t.match(s.refuse(second), {
      code: 'turn_active',
      members: { turnId: 'trn_1', ownerId: 'own_1' },
    })
    s.accept({ kind: 'admit', event: prompt('msg_2') })
    s.accept(inTurn(turnEnded()))
    s.accept({ ...second, inputs: ['msg_2'] } as typeof second)
  },
)
