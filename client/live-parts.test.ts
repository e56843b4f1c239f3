import { emptyReport } from '../test/harness/rehearsal.ts'
import fc from 'fast-check'
import t from 'tap'
import type { Envelope } from '../schema/events/envelope.ts'
import type { EventData, EventType } from '../schema/events/event-table.ts'
import { modelPage } from '../test/harness/model-page.ts'
import { openTranscript, type OpenTranscript } from './open-transcript.ts'
import type { LiveFrame } from './live-parts.ts'

type Frame = Extract<LiveFrame, { kind: unknown }>

const frame = (offset: number, delta: string, more: Partial<Frame> = {}): Frame => ({
  turnId: 'trn_1',
  fence: 1,
  messageId: 'm',
  attempt: 1,
  partId: 't',
  kind: 'text',
  offset,
  delta,
  ...more,
})

const replace = (offset: number, text: string, more: Partial<Frame> = {}): Frame => {
  const { delta: _, ...rest } = frame(offset, '', more)
  return { ...rest, replace: text }
}

const resync: LiveFrame = { resync: true, messageId: 'm', partId: 't' }
const model = { modelId: 'm', providerId: 'p' }
const error = { kind: 'provider', message: '' } as const
const tokens = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }

const says = <T extends EventType>(transcript: OpenTranscript, type: T, data: EventData<T>) => {
  const seq = transcript.asOfSeq + 1
  const at = '2027-01-01T00:00:00.000Z'
  const event: Envelope = {
    sessionId: 'ses_1',
    seq,
    eventId: `evt_${seq}`,
    type,
    version: 1,
    occurredAt: at,
    recordedAt: at,
    data,
    meta: {},
  }
  transcript.apply(event)
  return event
}

const startTurn = (transcript: OpenTranscript, fence = 1) =>
  says(transcript, 'turn.started', { turnId: `trn_${fence}`, ownerId: 'o', fence, inputs: [] })

const startStep = (transcript: OpenTranscript, messageId = 'm') =>
  says(transcript, 'step.started', { messageId, attempt: 1, agent: 'a', model })

/** In a turn, with step `m` begun. */
const begun = (): OpenTranscript => {
  const transcript = openTranscript({ data: [], asOfSeq: 0 })
  startTurn(transcript)
  startStep(transcript)
  return transcript
}

const texts = ({ live }: OpenTranscript) =>
  live.map(({ partId, text, stale }) => [partId, text, stale ?? false])

t.test(
  'deltas add up by offsets in UTF-16 code units, and doubled ones change nothing',
  async (t) => {
    const transcript = begun()
    t.ok(transcript.applyLive(frame(0, 'a🙂')))
    t.ok(transcript.applyLive(frame(3, '\ud83d')))
    t.ok(transcript.applyLive(frame(4, '\ude42b')))
    const said = transcript.live
    t.same(texts(transcript), [['t', 'a🙂🙂b', false]])
    t.notOk(transcript.applyLive(frame(3, '\ud83d')), 'doubled')
    t.notOk(transcript.applyLive(frame(0, 'a🙂')))
    t.equal(transcript.live, said, 'and the list stays the same')
    t.ok(transcript.applyLive(frame(4, '\ude42bc')), 'one that overlaps adds what is new of it')
    t.same(texts(transcript), [['t', 'a🙂🙂bc', false]])
    t.match(transcript.live, [
      { turnId: 'trn_1', fence: 1, messageId: 'm', attempt: 1, kind: 'text' },
    ])
  },
)

t.test(
  'whatever is lost, doubled or late, a part says a beginning of the text, or all of it',
  async (t) => {
    const text = 'Zwölf 🙂 Boxkämpfer jagen Viktor quer über den großen Sylter Deich. '.repeat(3)
    const acts = fc.array(
      fc.record({
        kind: fc.constantFrom('next', 'next', 'next', 'lost', 'again', 'replace', 'resync'),
        length: fc.integer({ min: 1, max: 9 }),
        from: fc.integer({ min: 0, max: 99 }),
      }),
    )
    fc.assert(
      fc.property(acts, (list) => {
        const transcript = begun()
        let sent = 0
        let lost = false
        for (const { kind, length, from } of list) {
          const at = Math.floor((from / 100) * sent)
          const end = Math.min(text.length, sent + length)
          const again = text.slice(at, Math.min(sent, at + length))
          if (kind === 'next') transcript.applyLive(frame(sent, text.slice(sent, end)))
          if (kind === 'again') transcript.applyLive(frame(at, again))
          if (kind === 'replace') transcript.applyLive(replace(0, text.slice(0, sent)))
          if (kind === 'resync') transcript.applyLive(resync)
          if (kind === 'replace') lost = false
          if (kind === 'lost' || kind === 'resync') lost = true
          if (kind === 'next' || kind === 'lost') sent = end
          const [part] = transcript.live
          if (!part) continue
          t.ok(text.startsWith(part.text))
          if (!lost) t.same([part.text, part.stale], [text.slice(0, sent), undefined])
        }
        transcript.applyLive(replace(0, text.slice(0, sent)))
        t.match(transcript.live, [{ text: text.slice(0, sent), stale: undefined }])
      }),
      { numRuns: 200 },
    )
  },
)

t.test(
  'after a gap a part is stale and keeps what is exact, until a frame replaces it',
  async (t) => {
    const transcript = begun()
    transcript.applyLive(frame(0, 'ab'))
    t.ok(transcript.applyLive(frame(3, 'd')))
    t.same(texts(transcript), [['t', 'ab', true]])
    t.notOk(transcript.applyLive(frame(2, 'c')), 'nothing but a replacement mends it')
    t.notOk(transcript.applyLive(replace(5, 'x')), 'and one that begins beyond is none')
    t.ok(transcript.applyLive(replace(0, 'abcd')))
    t.ok(transcript.applyLive(frame(4, 'e')))
    t.same(texts(transcript), [['t', 'abcde', false]])
    t.ok(transcript.applyLive(resync))
    t.notOk(transcript.applyLive(resync))
    t.same(texts(transcript), [['t', 'abcde', true]], 'a gap that the server names is one too')
    t.ok(transcript.applyLive(replace(3, 'DE')))
    t.same(texts(transcript), [['t', 'abcDE', false]])
    t.ok(transcript.applyLive(frame(2, 'x', { partId: 'u' })), 'begun in its middle')
    t.same(texts(transcript), [
      ['t', 'abcDE', false],
      ['u', '', true],
    ])
    t.notOk(transcript.applyLive({ ...resync, partId: 'never heard of' }))
  },
)

t.test('the end of a part drops it, and what comes late of it is not taken', async (t) => {
  for (const kind of ['text', 'reasoning'] as const) {
    const transcript = begun()
    says(transcript, `${kind}.started`, { messageId: 'm', partId: 't' })
    transcript.applyLive(frame(0, 'ab', { kind }))
    transcript.applyLive(frame(0, 'other', { kind, partId: 'u' }))
    says(transcript, `${kind}.ended`, { messageId: 'm', partId: 't', text: 'abc' })
    t.same(texts(transcript), [['u', 'other', false]])
    t.notOk(transcript.applyLive(frame(2, 'c', { kind })))
    const opened = openTranscript(modelPage(ofParts(kind)))
    t.notOk(opened.applyLive(frame(2, 'c', { kind })), 'also behind a page that has its end')
    t.ok(opened.applyLive(frame(0, 'x', { kind, partId: 'u' })), 'but not one that is open there')
  }
})

/** A step in which `t` has begun and ended, and `u` has begun. */
const ofParts = (kind: 'text' | 'reasoning'): Envelope[] => {
  const transcript = openTranscript({ data: [], asOfSeq: 0 })
  return [
    startTurn(transcript),
    startStep(transcript),
    says(transcript, `${kind}.started`, { messageId: 'm', partId: 't' }),
    says(transcript, `${kind}.ended`, { messageId: 'm', partId: 't', text: 'abc' }),
    says(transcript, `${kind}.started`, { messageId: 'm', partId: 'u' }),
  ]
}

t.test("a call's input is live until it is recorded, its progress until it settles", async (t) => {
  const transcript = begun()
  const call = { messageId: 'm', callId: 'c' }
  const input = { partId: 'c', kind: 'tool-input' } as const
  const progress = { partId: 'c', kind: 'tool-progress' } as const
  says(transcript, 'tool.input.started', { ...call, name: 'bash' })
  t.ok(transcript.applyLive(frame(0, '{"a', input)))
  says(transcript, 'tool.input.ended', { ...call, text: '{"a":1}' })
  t.same(transcript.live, [])
  t.notOk(transcript.applyLive(frame(3, '":1}', input)))
  says(transcript, 'tool.called', {
    ...call,
    name: 'bash',
    input: { a: 1 },
    effect: 'read',
    executedBy: 'host',
  })
  says(transcript, 'tool.dispatched', call)
  t.notOk(transcript.applyLive(frame(0, '{"a', input)))
  t.ok(transcript.applyLive(replace(0, '10 %', progress)))
  t.ok(transcript.applyLive(replace(0, '20 %', progress)))
  t.same(texts(transcript), [['c', '20 %', false]])
  says(transcript, 'tool.settled', { ...call, outcome: 'ok', content: [] })
  t.same(transcript.live, [])
  t.notOk(transcript.applyLive(replace(0, '100 %', progress)))
})

t.test('the end of a step or of its turn drops what was live in it', async (t) => {
  const step = begun()
  step.applyLive(frame(0, 'a'))
  says(step, 'step.failed', { messageId: 'm', error })
  t.same(step.live, [])
  t.notOk(step.applyLive(frame(1, 'b')))
  const done = begun()
  done.applyLive(frame(0, 'a'))
  says(done, 'step.ended', { messageId: 'm', finish: 'stop', cost: 0, tokens })
  t.same(done.live, [])
  const turn = begun()
  turn.applyLive(frame(0, 'a', { messageId: 'of another page' }))
  says(turn, 'turn.ended', { turnId: 'trn_1', outcome: 'interrupted', fence: 1 })
  t.same(turn.live, [])
  t.notOk(turn.applyLive(frame(1, 'b', { messageId: 'of another page' })), 'and what comes late')
  t.ok(turn.applyLive(frame(0, 'c', { turnId: 'trn_2', fence: 2, messageId: 'm2' })))
  startTurn(turn, 2)
  startStep(turn, 'm2')
  t.same(texts(turn), [['t', 'c', false]], 'what comes before its turn and step stays')
})

t.test('a higher fence ends what is live under a lower one, by frame or by event', async (t) => {
  const transcript = begun()
  transcript.applyLive(frame(0, 'old'))
  transcript.applyLive(frame(0, 'old', { partId: 'u' }))
  t.ok(transcript.applyLive(frame(0, 'new', { fence: 2 })))
  t.same(texts(transcript), [['t', 'new', false]])
  t.notOk(transcript.applyLive(frame(3, 'old')), "a fenced owner's frame")
  says(transcript, 'turn.claimed', {
    turnId: 'trn_1',
    ownerId: 'p',
    fromOwnerId: 'o',
    fromFence: 2,
    fence: 3,
    report: emptyReport,
  })
  t.same(transcript.live, [])
  t.notOk(transcript.applyLive(frame(3, 'er', { fence: 2 })))
})

t.test('a frame without an attempt is of the current one', async (t) => {
  const transcript = begun()
  says(transcript, 'step.retried', { messageId: 'm', attempt: 2, error })
  const { attempt: _, ...without } = frame(0, 'a')
  t.ok(transcript.applyLive(without))
  t.match(transcript.live, [{ attempt: 2, text: 'a' }])
})

t.test('a higher attempt ends what is live of a lower one, by frame or by event', async (t) => {
  const transcript = begun()
  transcript.applyLive(frame(0, 'first'))
  transcript.applyLive(frame(0, 'first', { partId: 'u' }))
  t.ok(transcript.applyLive(frame(0, 'second', { attempt: 2 })))
  t.same(texts(transcript), [['t', 'second', false]])
  t.notOk(transcript.applyLive(frame(5, '!')))
  says(transcript, 'step.retried', { messageId: 'm', attempt: 2, error })
  t.same(texts(transcript), [['t', 'second', false]])
  says(transcript, 'step.retried', { messageId: 'm', attempt: 3, error })
  t.same(transcript.live, [])
  t.notOk(transcript.applyLive(frame(6, '!', { attempt: 2 })))
})
