import t from 'tap'
import { claim, lose, takeOver } from '../../../test/harness/owner-acts.ts'
import { eventTable } from '../../../schema/events/event-table.ts'
import {
  called,
  dispatched,
  event,
  inTurn,
  rehearseTurn,
  stepStarted,
} from '../../../test/harness/rehearsal.ts'

t.test(
  'rule 11: who takes over is told of calls that were unknown before, until they are resolved',
  async (t) => {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), called('c1'), called('c2'), dispatched('c1'), dispatched('c2')))
    t.equal(takeOver(s).unknown, undefined, 'those of now are among the calls')
    lose(s, 'own_2')
    t.same(s.accept(claim(2, 'own_a')).outcome.turn!.report!.unknown, [
      { messageId: 'msg_1', callId: 'c1' },
      { messageId: 'msg_1', callId: 'c2' },
    ])
    const found = {
      messageId: 'msg_1',
      callId: 'c1',
      outcome: 'ok' as const,
      evidence: 'it is there',
    }
    s.accept({ kind: 'append', events: [event('tool.resolved', found)] })
    lose(s, 'own_a')
    t.same(s.accept(claim(3, 'own_b')).outcome.turn!.report!.unknown, [
      { messageId: 'msg_1', callId: 'c2' },
    ])
  },
)

t.test('rule 10: what is found out of an unknown call is never that it is unknown', async (t) => {
  const outcomes = eventTable['tool.resolved'].data.properties.outcome.anyOf.map((o) => o.const)
  t.same(outcomes, ['ok', 'error', 'denied', 'cancelled'])
})
