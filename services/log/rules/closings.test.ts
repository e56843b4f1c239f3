import t from 'tap'
import {
  called,
  dispatched,
  event,
  inTurn,
  rehearseTurn,
  stepStarted,
  turnEnded,
  type Rehearsal,
} from '../../../test/harness/rehearsal.ts'

const openEverything = (): Rehearsal => {
  const s = rehearseTurn()
  s.accept(
    inTurn(
      stepStarted(),
      event('text.started', { messageId: 'msg_1', partId: 't1' }),
      event('reasoning.started', { messageId: 'msg_1', partId: 'r1' }),
      called('c1'),
      called('c2'),
      dispatched('c2'),
      called('c3'),
      event('request.opened', {
        requestId: 'req_1',
        kind: 'question',
        messageId: 'msg_1',
        callId: 'c3',
        questions: [{ question: 'q', options: [] }],
      }),
      event('request.opened', {
        requestId: 'req_2',
        kind: 'permission',
        permission: { action: 'a', resources: [] },
      }),
      event('compaction.started', { compactionId: 'cmp_1', messageId: 'msg_c', reason: 'auto' }),
      event('epoch.opened', { epochId: 'epo_1', epoch: 1, worktreeId: 'w', capture: 'scan' }),
    ),
  )
  s.accept({
    kind: 'append',
    events: [event('shell.started', { messageId: 'msg_s', command: 'ls' })],
  })
  return s
}

const told = (s: Rehearsal) =>
  s.last.map((e) => {
    const d = e.data as Record<'outcome' | 'reason' | 'partial', string | undefined> & {
      error?: { kind: string }
    }
    return [e.type, d.outcome ?? d.reason ?? d.partial ?? d.error?.kind ?? null].join(' ').trim()
  })

t.test(
  'rule 7: the end of a turn closes all that it left open, before it, in the same append (case 10)',
  async (t) => {
    const s = openEverything()
    s.accept(inTurn(turnEnded('interrupted')))
    t.same(told(s), [
      'request.closed cancelled',
      'tool.settled cancelled',
      'tool.settled unknown',
      'tool.settled cancelled',
      'text.ended true',
      'reasoning.ended true',
      'step.failed aborted',
      'request.closed cancelled',
      'compaction.failed',
      'epoch.failed the turn ended before the epoch was sealed',
      'turn.ended interrupted',
    ])
    t.same(s.session.state, { fence: 1, shells: { msg_s: true } }, 'shells run on')
    t.ok(
      s.last
        .slice(0, -1)
        .every((e) => e.derived && e.meta.turnId === 'trn_1' && e.meta.fence === 1),
    )
  },
)

t.test(
  'rule 3: a delete ends the running turn first, shells too, and then the session takes nothing (case 40)',
  async (t) => {
    const s = openEverything()
    s.accept({ kind: 'delete', eventId: 'evt_del' })
    t.same(s.last.map((e) => e.type).slice(-3), ['turn.ended', 'shell.ended', 'session.deleted'])
    t.same(s.session.state, { fence: 1, deleted: true })
    t.equal(s.refuse(inTurn(stepStarted('msg_9'))).code, 'session_deleted')
    t.equal(
      s.refuse({ kind: 'append', events: [event('session.renamed', { title: 'x' })] }).code,
      'session_deleted',
    )
    t.equal(s.refuse({ kind: 'delete', eventId: 'evt_del2' }).code, 'session_deleted')
    s.accept({ kind: 'restore', eventId: 'evt_res' })
    t.equal(s.refuse({ kind: 'restore', eventId: 'evt_res2' }).code, 'wrong_state')
  },
)

t.test(
  'the ids of closings derive from the event that caused them, so a retry derives the same',
  async (t) => {
    const [a, b] = [openEverything(), openEverything()]
    const end = turnEnded()
    a.accept(inTurn(end))
    b.accept(inTurn(end))
    t.same(
      a.last.map((e) => e.eventId),
      b.last.map((e) => e.eventId),
    )
    t.equal(new Set(a.last.map((e) => e.eventId)).size, a.last.length)
  },
)

t.test(
  'case 49: a turn.ended that is sent again under an old fence is answered as the first time',
  async (t) => {
    const s = openEverything()
    const end = turnEnded()
    const first = s.accept(inTurn(end))
    s.accept({
      kind: 'start-turn',
      turnId: 'trn_2',
      ownerId: 'own_2',
      incarnation: 1,
      inputs: [],
      eventId: 'evt_2',
    })
    const again = s.accept({ ...inTurn(end), expectedSeq: 1 })
    t.equal(again.events.length, 0)
    t.same(again.outcome.events, [
      { eventId: end.eventId, seq: first.outcome.lastSeq, duplicate: true },
    ])
  },
)

t.test('rule 7: a delete closes what is open outside a turn too', async (t) => {
  const s = rehearseTurn()
  s.accept(
    inTurn(
      event('request.opened', {
        requestId: 'req_1',
        kind: 'permission',
        permission: { action: 'a', resources: [] },
      }),
      event('epoch.opened', { epochId: 'epo_1', epoch: 1, worktreeId: 'w', capture: 'scan' }),
    ),
  )
  // As an import may leave them: open, and no turn.
  const { turn: _turn, ...state } = s.session.state
  s.session = { ...s.session, state: { ...state, epochs: { epo_1: { worktreeId: 'w' } } } }
  s.accept({ kind: 'delete', eventId: 'evt_delete' })
  t.same(
    s.last.map((e) => e.type),
    ['request.closed', 'epoch.failed', 'session.deleted'],
  )
  t.same(s.session.state, { fence: 1, deleted: true })
})
