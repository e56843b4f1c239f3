import fc from 'fast-check'
import t from 'tap'
import type { Envelope } from '../schema/events/envelope.ts'
import type { EventData, EventType } from '../schema/events/event-table.ts'
import { modelPage } from '../test/harness/model-page.ts'
import { randomImport } from '../test/harness/random-import.ts'
import { randomSession } from '../test/harness/random-session.ts'
import { seeded } from '../test/harness/seeded.ts'
import { openTranscript } from './open-transcript.ts'

const enveloped = (events: readonly object[]): Envelope[] =>
  events.map((event, index) => {
    const at = new Date(1_800_000_000_000 + index).toISOString()
    const common = { sessionId: 'ses_1', version: 1, occurredAt: at, recordedAt: at, meta: {} }
    return { ...common, ...event, seq: index + 1 } as Envelope
  })

const eventOf = <T extends EventType>(type: T, data: EventData<T>, meta = {}) => ({
  type,
  data,
  meta,
})

const model = { modelId: 'm', providerId: 'p' }
const error = { kind: 'provider', message: '' } as const
const started = (messageId: string) =>
  eventOf('step.started', { messageId, attempt: 1, agent: 'a', model })

const sessions = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  turns: fc.integer({ min: 1, max: 4 }),
  imported: fc.boolean(),
  at: fc.integer({ min: 0, max: 99 }),
  last: fc.constantFrom(1, 2, 5, Infinity),
  descending: fc.boolean(),
  includeHidden: fc.boolean(),
})

const randomLog = (seed: number, turns: number, imported: boolean): Envelope[] =>
  enveloped(
    imported
      ? randomImport(seeded(seed), turns).flatMap((act) =>
          act.kind === 'import' ? act.events : [],
        )
      : randomSession(seeded(seed), turns).log,
  )

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test('page + events = page, from any prefix on, for all of it or for its end', async (t) => {
  fc.assert(
    fc.property(sessions, ({ seed, turns, imported, at, last, descending, includeHidden }) => {
      const log = randomLog(seed, turns, imported)
      const head = Math.floor((at / 100) * log.length)
      const { data, ...page } = modelPage(log.slice(0, head), { last, includeHidden })
      const transcript = openTranscript({ ...page, data: descending ? data.toReversed() : data })
      const from = data[0]?.seq ?? head + 1
      for (const event of log) {
        const before = transcript.messages
        const { changed } = transcript.apply(event)
        if (event.seq <= head) {
          t.equal(transcript.messages, before, 'what the page holds does nothing')
          continue
        }
        const expected = modelPage(log.slice(0, event.seq), { includeHidden }).data.filter(
          ({ seq }) => seq >= from,
        )
        t.strictSame(json(transcript.messages), expected, `${seed}: ${head} + ${event.seq}`)
        t.equal(transcript.asOfSeq, event.seq)
        const same = new Set(before)
        for (const message of transcript.messages)
          t.ok(same.has(message) || changed.includes(message.messageId), 'what changed is named')
      }
    }),
    { numRuns: 30 },
  )
})

t.test('an older page that was read at the same seq or later is followed too', async (t) => {
  fc.assert(
    fc.property(sessions, fc.integer({ min: 0, max: 20 }), (session, later) => {
      const log = randomLog(session.seed, session.turns, session.imported)
      const head = Math.floor((session.at / 100) * log.length)
      const { includeHidden, last } = session
      const transcript = openTranscript(modelPage(log.slice(0, head), { last, includeHidden }))
      const first = transcript.messages[0]?.seq
      if (first === undefined) return
      const read = Math.min(log.length, head + later)
      const older = modelPage(log.slice(0, read), { includeHidden, before: first })
      t.ok(transcript.addOlder(older))
      for (const event of log.slice(head)) {
        transcript.apply(event)
        if (event.seq < read || (event.seq % 4 > 0 && event.seq < log.length)) continue
        const expected = modelPage(log.slice(0, event.seq), { includeHidden }).data
        t.strictSame(json(transcript.messages), expected, `${session.seed}: ${event.seq}`)
      }
      if (log.length > read) t.notOk(transcript.addOlder(older), 'by now it is too old')
    }),
    { numRuns: 30 },
  )
})

t.test('a gap throws, says where to read on, and changes nothing', async (t) => {
  const log = randomLog(5, 2, false)
  const transcript = openTranscript(modelPage(log.slice(0, 10)))
  const before = transcript.messages
  t.throws(() => transcript.apply(log[11]!), { name: 'SeqGap', afterSeq: 10 })
  t.equal(transcript.messages, before)
  t.equal(transcript.asOfSeq, 10)
  transcript.apply(log[10]!)
  t.equal(transcript.asOfSeq, 11)
  t.throws(() => transcript.apply({ ...log[11]!, sessionId: 'ses_2' }), TypeError)
})

t.test('an event type of a newer writer is skipped, and counts', async (t) => {
  const log = randomLog(5, 1, false)
  const transcript = openTranscript({ data: [], asOfSeq: 0 })
  const types = ['step.dreamt', 'toString', '__proto__']
  for (const type of types) log.splice(2, 0, { ...log[2]!, type })
  for (const event of enveloped(log)) transcript.apply(event)
  t.equal(transcript.asOfSeq, log.length)
  t.strictSame(json(transcript.messages), modelPage(enveloped(log)).data)
})

t.test('a cut of the transcript, a fork and a redaction ask for the page again', async (t) => {
  const cuts = [
    eventOf('session.forked', { from: 'ses_0', asOfSeq: 3, lineage: [] }),
    eventOf('revert.committed', { lineage: [] }),
    eventOf('revert.reinstated', { lineage: [] }),
    eventOf('part.redacted', { seq: 2, messageId: 'msg_1', reason: 'secret' }),
  ]
  const log = randomLog(8, 2, false)
  for (const cut of cuts) {
    const transcript = openTranscript(modelPage(log))
    const before = transcript.messages
    const events = enveloped([
      ...log,
      cut,
      eventOf('note.added', { messageId: 'msg_new', role: 'system', text: '' }),
    ]).slice(log.length)
    t.same(transcript.apply(events[0]!), { changed: [], reload: true }, cut.type)
    t.same(transcript.apply(events[1]!), { changed: [], reload: true })
    t.equal(transcript.messages, before, 'and it stands where it stood')
    t.equal(transcript.asOfSeq, log.length)
    t.ok(transcript.reload)
  }
})

t.test('the page after a cut is followed: what comes after it is shown', async (t) => {
  const log = randomLog(8, 2, false)
  const lineage = [
    { sessionId: 'ses_1', fromPlace: 0, throughPlace: 12, asOfSeq: 20, except: [] as string[] },
  ]
  const note = (messageId: string) => eventOf('note.added', { messageId, role: 'system', text: '' })
  const all = enveloped([...log, eventOf('revert.committed', { lineage }), note('a'), note('b')])
  for (const includeHidden of [false, true]) {
    const transcript = openTranscript(modelPage(all.slice(0, -2), { includeHidden }))
    for (const event of all) transcript.apply(event)
    t.strictSame(json(transcript.messages), modelPage(all, { includeHidden }).data)
    t.equal(
      transcript.messages.some(({ hidden }) => hidden),
      includeHidden,
    )
  }
})

t.test('what is said later of a message that a cut has hidden leaves it hidden', async (t) => {
  const excluded = (reason: string) =>
    eventOf('part.excluded', { messageId: 'm', partId: 't', reason })
  const all = enveloped([
    started('m'),
    eventOf('text.ended', { messageId: 'm', partId: 't', text: 'said' }),
    eventOf('revert.committed', { lineage: [] }),
    excluded('long'),
  ])
  const transcript = openTranscript(modelPage(all.slice(0, 3), { includeHidden: true }))
  transcript.apply(all[3]!)
  t.match(transcript.messages, [{ hidden: true, parts: [{ excluded: 'long' }] }])
  t.strictSame(json(transcript.messages), modelPage(all, { includeHidden: true }).data)
  const shown = openTranscript(modelPage(all.slice(0, 3)))
  t.same(shown.apply(all[3]!), { changed: [], reload: false })
  t.same(shown.messages, [])
})

t.test(
  'an older page of a later seq is shown as it is, and does not take its events again',
  async (t) => {
    const log = enveloped([
      started('m'),
      eventOf('step.streamed', { messageId: 'm', finish: 'stop', cost: 1 }),
      eventOf('note.added', { messageId: 'n', role: 'system', text: '' }),
      eventOf('step.retried', { messageId: 'm', attempt: 2, error }),
      eventOf('step.streamed', { messageId: 'm', finish: 'stop', cost: 2 }),
      eventOf('step.retried', { messageId: 'm', attempt: 3, error }),
    ])
    const transcript = openTranscript(modelPage(log.slice(0, 3), { last: 1 }))
    t.ok(transcript.addOlder(modelPage(log.slice(0, 5), { before: 3 })))
    for (const event of log.slice(3, 5)) {
      t.same(transcript.apply(event).changed, [])
      t.match(transcript.messages, [{ attempt: 2, cost: 3 }, { messageId: 'n' }])
    }
    t.same(transcript.apply(log[5]!).changed, ['m'])
    t.strictSame(json(transcript.messages), modelPage(log).data)
  },
)

t.test(
  'an event that the fold cannot read asks for the page again, as the server stops',
  async (t) => {
    const log = randomLog(8, 1, false)
    const transcript = openTranscript(modelPage(log))
    const [poison] = enveloped([...log, { type: 'input.delivered', data: null }]).slice(-1)
    t.same(transcript.apply(poison!), { changed: [], reload: true })
    t.equal(transcript.asOfSeq, log.length)
  },
)

t.test('a page that the fold cannot go on from is refused', async (t) => {
  const log = randomLog(8, 2, false)
  const page = modelPage(log)
  const { fold: carried, ...earlier } = page
  t.throws(() => openTranscript(earlier), /not of the head/)
  t.throws(() => openTranscript(modelPage(log, { before: 12 })), /does not reach the end/)
  t.throws(
    () => openTranscript({ ...page, fold: { ...Object(carried), version: 99 } }),
    /version 99/,
  )
  const transcript = openTranscript(page)
  t.throws(() => transcript.addOlder(modelPage(log, { includeHidden: true })), /include=hidden/)
})

t.test('a cost over several attempts stays exact to the last bit', async (t) => {
  const streamed = (cost: number) =>
    eventOf('step.streamed', { messageId: 'm', finish: 'stop', cost })
  const retried = (attempt: number) => eventOf('step.retried', { messageId: 'm', attempt, error })
  const log = enveloped([
    started('m'),
    streamed(0.1),
    retried(2),
    streamed(0.2),
    retried(3),
    streamed(1e-9),
    streamed(0.3),
  ])
  for (let head = 0; head < log.length; head += 1) {
    const transcript = openTranscript(modelPage(log.slice(0, head)))
    for (const event of log) transcript.apply(event)
    t.equal(transcript.messages[0]?.cost, 0.3 + (0.1 + 0.2))
  }
})
