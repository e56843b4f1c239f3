import t from 'tap'
import { askLeave, decided } from '../../../test/harness/owner-acts.ts'
import {
  called,
  dispatched,
  inTurn,
  rehearseTurn,
  settled,
  stepStarted,
  turnEnded,
  type Rehearsal,
} from '../../../test/harness/rehearsal.ts'

const asking = (): Rehearsal => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('c1'), askLeave('req_1', 'c1')))
  return s
}

const revoke = (requestId: string, eventId = 'evt_revoke') =>
  ({ kind: 'revoke-permission', requestId, eventId }) as const

t.test('rule 10: a permission makes nothing ok: the call is dispatched first', async (t) => {
  for (const decision of ['allow_once', 'allow_always'] as const) {
    const s = asking()
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state', 'it waits')
    s.accept(decided('req_1', decision))
    t.equal(s.refuse(inTurn(settled('c1'))).code, 'wrong_state', decision)
    s.accept(inTurn(dispatched('c1'), settled('c1')))
  }
})

t.test('rule 10: a call that was not allowed is not dispatched, and is not ok', async (t) => {
  for (const decision of ['reject_once', 'reject_always'] as const) {
    const s = asking()
    s.accept(decided('req_1', decision))
    t.equal(s.refuse(inTurn(dispatched('c1'))).code, 'wrong_state', decision)
    t.equal(s.refuse(inTurn(settled('c1'))).code, 'wrong_state', decision)
    s.accept(inTurn(settled('c1', 'denied')))
  }
})

t.test('a call that was not allowed may be asked for again', async () => {
  const s = asking()
  s.accept(decided('req_1', 'reject_once'))
  s.accept(inTurn(askLeave('req_2', 'c1')))
  s.accept(decided('req_2', 'allow_once'))
  s.accept(inTurn(dispatched('c1')))
})

t.test('what always was said of stands for later requests, until it is taken back', async (t) => {
  for (const [decision, stands] of [
    ['allow_always', 'allow'],
    ['reject_always', 'reject'],
  ] as const) {
    const s = asking()
    s.accept(decided('req_1', decision))
    const rule = { requestId: 'req_1', action: 'run', resources: ['ls'], decision: stands }
    t.match(s.last, [
      { type: 'permission.granted', data: { rule }, derived: true },
      { type: 'request.answered', data: { decision } },
    ])
    s.accept(inTurn(turnEnded()))
    s.accept(revoke('req_1'))
    t.match(s.last, [{ type: 'permission.revoked', data: { rule } }], 'after its turn too')
    s.accept(revoke('req_1', 'evt_again'))
    t.equal(s.last.length, 0, 'once')
  }
})

t.test('what was decided once leaves nothing that could be taken back', async (t) => {
  for (const decision of ['allow_once', 'reject_once'] as const) {
    const s = asking()
    s.accept(decided('req_1', decision))
    t.same(
      s.last.map((e) => e.type),
      ['request.answered'],
    )
    t.equal(s.refuse(revoke('req_1')).code, 'permission_not_found')
  }
  t.equal(asking().refuse(revoke('req_no')).code, 'permission_not_found')
})
