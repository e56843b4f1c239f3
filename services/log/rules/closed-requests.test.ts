import t from 'tap'
import {
  aliveOwner,
  called,
  dispatched,
  event,
  inTurn,
  rehearseTurn,
  stepStarted,
} from '../../../test/harness/rehearsal.ts'
import type { Act } from '../command.ts'

const ask = (requestId: string) =>
  event('request.opened', {
    requestId,
    kind: 'permission',
    permission: { action: 'rm', resources: ['/'] },
    messageId: 'msg_1',
    callId: 'c',
    expiresAt: '2026-01-01T00:00:00Z',
  })

const claim = (ownerId: string, fromFence: number): Act => ({
  kind: 'claim-turn',
  turnId: 'trn_1',
  ownerId,
  incarnation: 1,
  fromFence,
  eventId: `evt_claim_${fromFence}`,
})

const close = (reason: 'rejected' | 'dismissed' | 'replied' | 'cancelled'): Act => ({
  kind: 'close-request',
  requestId: 'req_1',
  reason,
  eventId: 'evt_close',
})

t.test(
  'rule 19: who takes a turn over learns in which way nobody answered for a call',
  async (t) => {
    const ways: readonly [string, Act][] = [
      ['rejected', close('rejected')],
      ['dismissed', close('dismissed')],
      ['replied', close('replied')],
      ['expired', { kind: 'expire-requests', eventId: 'evt_expire' }],
    ]
    for (const [closed, act] of ways) {
      const s = rehearseTurn()
      s.accept(inTurn(stepStarted(), called('c'), ask('req_1')))
      s.names.set('clock:', { seq: 0, at: Date.parse('2026-01-02T00:00:00Z') })
      s.accept(act)
      s.owners.set('own_1', { ...aliveOwner, lost: true })
      const { outcome } = s.accept(claim('own_2', 1))
      t.match(outcome.turn?.report?.calls, [{ callId: 'c', now: 'called', closed }])
      s.owners.set('own_2', { ...aliveOwner, lost: true })
      const again = s.accept(claim('own_a', 2))
      t.match(again.outcome.turn?.report?.calls, [{ now: 'called', closed }], 'and the next, too')
      const under = (fence: number, ...events: Parameters<typeof inTurn>): Act =>
        ({ ...inTurn(...events), fence }) as Act
      s.accept(under(3, ask('req_2')))
      t.equal(s.session.state.step?.calls?.['c']?.closed, undefined, 'it was asked for again')
      s.accept({ ...close('dismissed'), requestId: 'req_2' } as Act)
      s.accept(under(3, dispatched('c')))
      t.equal(s.session.state.step?.calls?.['c']?.closed, undefined, 'and used')
    }
  },
)
