import t from 'tap'
import type { NewEvent } from '../../../schema/events/envelope.ts'
import type { Act } from '../command.ts'
import {
  aliveOwner,
  called,
  dispatched,
  event,
  rehearse,
  settled,
  stepEnded,
  stepStarted,
} from '../../../test/harness/rehearsal.ts'

const origin = { system: 'other', sessionId: 'ses_1' }
const bring = (events: readonly NewEvent[]): Act => ({ kind: 'import', origin, events })
const closing = { meta: { importClosing: true as const } }

const note = () => event('note.added', { messageId: 'msg_n', role: 'system', text: 'x' })

/** A source that was exported while its tool ran, and the same source later. */
const source = () => {
  const begun = [
    event('session.created', { origin }),
    event('input.admitted', { messageId: 'msg_u', kind: 'prompt', text: 'x', delivery: 'queue' }),
    event('turn.started', { turnId: 'trn_1', ownerId: 'other', fence: 1, inputs: ['msg_u'] }),
    event('input.delivered', { messageId: 'msg_u', turnId: 'trn_1' }),
    stepStarted(),
    called('c1'),
    dispatched('c1'),
  ]
  const closings = [
    event(
      'tool.settled',
      { messageId: 'msg_1', callId: 'c1', outcome: 'unknown', content: [] },
      closing,
    ),
    event('step.failed', { messageId: 'msg_1', error: { kind: 'aborted', message: '' } }, closing),
    event('turn.ended', { turnId: 'trn_1', outcome: 'interrupted', fence: 1 }, closing),
  ]
  const rest = [
    settled('c1'),
    stepEnded('stop'),
    event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 1 }),
  ]
  return { begun, closings, rest }
}

t.test('case 44: importing again, or a shorter copy, changes nothing', async (t) => {
  const { begun, closings, rest } = source()
  const s = rehearse()
  const first = s.accept(bring([...begun, ...rest]))
  t.match(first.outcome, { created: true, added: 10, duplicates: 0 })
  for (const copy of [[...begun, ...rest], [...begun, ...closings], begun.slice(0, 2)]) {
    const again = s.accept(bring(copy))
    t.match(again.outcome, { created: false, added: 0, duplicates: copy.length })
  }
})

t.test(
  'a source that has grown re-opens what its closings closed, and later events take their place',
  async (t) => {
    const { begun, closings, rest } = source()
    const s = rehearse()
    s.accept(bring([...begun, ...closings]))
    t.equal(s.session.state.turn, undefined, 'imported turns are ended (case 46)')
    t.equal(s.accept(bring([...begun, ...closings])).outcome.added, 0)
    const grown = s.accept(bring([...begun, ...rest]))
    t.match(grown.outcome, { added: 3, duplicates: 7 })
    const ended = { fence: 1, origin, importBefore: { head: s.session.head } }
    t.same(s.session.state, ended, 'and nothing is left open')
    t.equal(
      s.accept(bring([...begun, ...closings])).outcome.added,
      0,
      'the shorter copy changes nothing',
    )
  },
)

t.test(
  'a source that was written to since is refused with import_diverged, but for its name and the like',
  async (t) => {
    const { begun, closings, rest } = source()
    const s = rehearse()
    s.accept(bring([...begun, ...closings]))
    s.accept({
      kind: 'append',
      events: [event('session.renamed', { title: 'mine' }), event('session.viewed', {})],
    })
    const before = s.session
    s.accept(bring([...begun, ...rest.slice(0, 1)]))
    s.session = before
    s.accept({
      kind: 'append',
      events: [note()],
    })
    t.equal(s.refuse(bring([...begun, ...rest])).code, 'import_diverged')
  },
)

/** A live source: its turn is under way, with a request that has expired, and it was asked to stop. */
const liveSource = () => {
  const asked = { requestId: 'req_1', kind: 'question' as const }
  const by = { subject: 'someone' }
  const begun = [
    ...source().begun,
    event('request.opened', { ...asked, expiresAt: '2026-01-01T00:00:00Z' }),
    event('turn.interrupt.requested', { turnId: 'trn_1', reason: 'x', by, graceMs: 1 }),
  ]
  const rest = [
    event('request.answered', { requestId: 'req_1', messageId: 'msg_a', answers: [['a']], by }),
    event('turn.ended', { turnId: 'trn_1', outcome: 'interrupted', fence: 1 }),
  ]
  return { begun, rest }
}

const sweeps: readonly Act[] = [
  { kind: 'expire-requests', eventId: 'evt_expire' },
  { kind: 'end-interrupted', turnId: 'trn_1', eventId: 'evt_end' },
  {
    kind: 'fail-turn',
    turnId: 'trn_1',
    ownerId: 'other',
    incarnation: 1,
    reason: 'x',
    eventId: 'evt_fail',
  },
]

t.test('the deadlines of a source are its own: the store writes none of them', async (t) => {
  const { begun, rest } = liveSource()
  const s = rehearse()
  s.names.set('clock:', { seq: 0, at: Date.parse('2026-01-02T00:00:00Z') })
  s.owners.set('other', { ...aliveOwner, ended: true, lost: true })
  s.accept(bring(begun))
  s.accept({ kind: 'append', events: [event('session.viewed', {})] })
  t.equal(s.accept(sweeps[0]!).events.length, 0)
  for (const sweep of sweeps.slice(1)) t.equal(s.refuse(sweep).code, 'wrong_state', sweep.kind)
  t.equal(s.accept(bring([...begun, ...rest])).outcome.added, 4, 'and the source goes on')
})

t.test(
  'once somebody else wrote to it, a live session is the store’s, and its import diverged',
  async (t) => {
    for (const sweep of sweeps) {
      const { begun, rest } = liveSource()
      const s = rehearse()
      s.names.set('clock:', { seq: 0, at: Date.parse('2026-01-02T00:00:00Z') })
      s.owners.set('other', { ...aliveOwner, ended: true, lost: true })
      s.accept(bring(begun))
      s.accept({ kind: 'append', events: [note()] })
      t.ok(s.accept(sweep).events.length > 0, sweep.kind)
      for (const events of [
        [...begun, ...rest],
        [...begun, rest[1]!],
      ]) {
        const refusal = s.refuse(bring(events))
        t.equal(refusal.code, 'import_diverged')
        t.match(refusal.members, { importSeq: 9 })
      }
      t.equal(s.accept(bring(begun)).outcome.added, 0, 'what is known is answered')
    }
  },
)

t.test('only the origin that a session came from continues it', async (t) => {
  const { begun, rest } = source()
  const s = rehearse()
  s.accept(bring(begun))
  const refusal = s.refuse({
    kind: 'import',
    origin: { system: 'third', sessionId: 'ses_1' },
    events: rest,
  })
  t.equal(refusal.code, 'duplicate_id')
  const own = rehearse()
  own.accept({ kind: 'create', event: event('session.created', {}) })
  t.equal(own.refuse(bring(rest)).code, 'duplicate_id')
})

t.test('an import of a new session begins with session.created of its origin', async (t) => {
  const { begun } = source()
  t.equal(rehearse().refuse(bring(begun.slice(1))).code, 'invalid_body')
  t.equal(rehearse().refuse(bring([event('session.created', {})])).code, 'invalid_body')
})

t.test('the rules hold for imports: a step with an open call does not end', async (t) => {
  const { begun } = source()
  t.equal(rehearse().refuse(bring([...begun, stepEnded('stop')])).code, 'open_tool_calls')
})

t.test('an event of the source after a closing is refused', async (t) => {
  const { begun, closings, rest } = source()
  t.equal(rehearse().refuse(bring([...begun, ...closings, ...rest])).code, 'invalid_body')
})

t.test(
  'a source that was written to since stays diverged, also when the session is renamed afterwards',
  async (t) => {
    const { begun, closings, rest } = source()
    const s = rehearse()
    s.accept(bring([...begun, ...closings]))
    s.accept({
      kind: 'start-turn',
      turnId: 'trn_2',
      ownerId: 'own',
      incarnation: 1,
      inputs: [],
      eventId: 'evt_t2',
    })
    s.accept({ kind: 'append', events: [event('session.renamed', { title: 'mine' })] })
    t.equal(s.refuse(bring([...begun, ...rest])).code, 'import_diverged')
    t.equal(s.session.state.turn?.turnId, 'trn_2', 'the running turn is untouched')
  },
)

t.test(
  'rule 10: a call that a later copy of the source settled as ok is not resolved as unknown',
  async (t) => {
    const { begun, closings, rest } = source()
    const s = rehearse()
    s.accept(bring([...begun, ...closings]))
    s.accept(bring([...begun, ...rest]))
    const resolve = event('tool.resolved', {
      messageId: 'msg_1',
      callId: 'c1',
      outcome: 'error',
      evidence: 'x',
    })
    t.equal(s.refuse({ kind: 'append', events: [resolve] }).code, 'wrong_state')
  },
)

t.test(
  'an import of which everything is known is answered, also for a deleted session and an old head',
  async (t) => {
    const { begun, rest } = source()
    const s = rehearse()
    s.accept(bring([...begun, ...rest]))
    const known = { ...bring([...begun, ...rest]), expectedSeq: 1 }
    t.equal(s.accept(known).outcome.duplicates, 10)
    s.accept({ kind: 'delete', eventId: 'evt_delete' })
    t.equal(s.accept(known).outcome.added, 0)
  },
)

t.test(
  'a closing that is sent again behind new events of the source is refused, not taken for done',
  async (t) => {
    const { begun, closings } = source()
    const s = rehearse()
    s.accept(bring([...begun, ...closings]))
    const more: NewEvent = { eventId: 'evt_more', type: 'x.other', version: 1, data: {}, meta: {} }
    t.equal(s.refuse(bring([...begun, more, ...closings])).code, 'invalid_body')
  },
)

t.test('rule 2: an imported turn names inputs that are there', async (t) => {
  const { begun } = source()
  const s = rehearse()
  const without = begun.filter(({ type }) => !type.startsWith('input.'))
  t.equal(s.refuse(bring(without)).code, 'dangling_reference')
})

t.test(
  'a source whose title goes from A to B and back to A ends as A, and a title that stays is not written again',
  async (t) => {
    const s = rehearse()
    const created = event('session.created', { origin })
    const notes = Array.from({ length: 5 }, (_, n) =>
      event('note.added', { messageId: `msg_${n}`, role: 'system', text: 'x' }),
    )
    const titles: string[] = []
    for (const [n, title] of ['A', 'B', 'A', 'A'].entries()) {
      s.accept(
        bring([created, ...notes.slice(0, n + 1), event('session.renamed', { title }, closing)]),
      )
      for (const { type, data } of s.last) {
        if (type === 'session.renamed') titles.push((data as { title: string }).title)
      }
    }
    t.same(titles, ['A', 'B', 'A'])
  },
)

t.test('what a source says of an expiry that is no instant expires nothing', async (t) => {
  const s = rehearse()
  const asks = (requestId: string, expiresAt: string) =>
    event('request.opened', { requestId, kind: 'question', expiresAt })
  s.accept(
    bring([
      event('session.created', { origin }),
      asks('req_odd', 'soon'),
      asks('req_past', '2020-01-01T00:00:00Z'),
      asks('req_later', '2030-01-01T00:00:00+15:59'),
    ]),
  )
  // From here on the session is no copy of its source.
  s.accept({ kind: 'append', events: [note()] })
  s.names.set('clock:', { seq: 0, at: Date.parse('2026-01-01T00:00:00Z') })
  s.accept({ kind: 'expire-requests', eventId: 'evt_expire' })
  t.same(
    s.last.map(({ data }) => data),
    [{ requestId: 'req_past', reason: 'expired' }],
  )
})
