import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Message } from '../../../projections/transcript/to-message.ts'
import { importInto, messagesOf } from '../../../test/harness/import-rehearsal.ts'
import {
  readRecording,
  readRecordings,
  type RecordedEvent,
  type Recording,
} from '../../../test/harness/opencode-messages.ts'
import { rehearse } from '../../../test/harness/rehearsal.ts'
import { canonicalJson } from '../../json/canonical.ts'
import type { TranslatedEvent } from '../translation.ts'
import { translateOpencodeV2 } from './translate.ts'

const own = (events: readonly TranslatedEvent[]): readonly TranslatedEvent[] =>
  events.filter(({ meta }) => meta?.['importClosing'] !== true)

const withHistory = (recording: Recording, history: readonly unknown[]) => ({
  ...recording,
  history,
})

t.test('a longer copy gives the events of every prefix of it, and more', async (t) => {
  for (const recording of readRecordings()) {
    const { history, name } = recording
    const whole = own(translateOpencodeV2(recording).events)
    const every = history.length < 100 ? 1 : 37
    let agree = true
    for (let length = 0; length <= history.length; length += every) {
      const prefix = own(
        translateOpencodeV2(withHistory(recording, history.slice(0, length))).events,
      )
      agree &&= JSON.stringify(prefix) === JSON.stringify(whole.slice(0, prefix.length))
    }
    t.ok(agree, name)
  }
})

t.test('closings come last, each is marked, and the title is the last of them', async (t) => {
  for (const recording of readRecordings()) {
    const { events } = translateOpencodeV2(recording)
    const first = events.findIndex(({ meta }) => meta?.['importClosing'] === true)
    t.ok(events.slice(first).every(({ meta }) => meta?.['importClosing'] === true))
    t.match(events.at(-1), { type: 'session.renamed', data: { title: recording.session.title } })
  }
})

t.test(
  'ids and times of the source are kept, and derived ids are the same each time',
  async (t) => {
    for (const recording of readRecordings()) {
      const { events } = translateOpencodeV2(recording)
      const byId = new Map(events.map((event) => [event.eventId, event]))
      t.equal(byId.size, events.length, 'an id stands for one event')
      for (const { id, data } of recording.history) {
        t.equal(byId.get(id)?.occurredAt, new Date(data['timestamp'] as number).toISOString())
      }
      t.same(translateOpencodeV2(structuredClone(recording)).events, events)
    }
  },
)

/** Every value within, with its path. */
function* leavesOf(value: unknown, path: readonly string[] = []): Generator<[string[], unknown]> {
  if (typeof value !== 'object' || value === null) yield [[...path], value]
  else for (const [key, member] of Object.entries(value)) yield* leavesOf(member, [...path, key])
}

/** Where the values of an event are said when they are not said literally. */
const saidOtherwise = (event: RecordedEvent, path: readonly string[], recording: Recording) => {
  const last = path.at(-1)
  if (path[0] === 'type') return true
  if (path.join('.') === 'data.timestamp') return true
  if (last === 'sessionID' || last === 'aggregateID')
    return event.data['sessionID'] === recording.session.id
  // By `executedBy` of the call, `delivery` of the admission, and the outcome.
  return path.join('.') === 'data.provider.executed'
}

t.test('no value of the history is dropped: each is in the events that come of it', async (t) => {
  for (const recording of readRecordings()) {
    const { events } = translateOpencodeV2(recording)
    const byMessage = JSON.stringify(events)
    const lost: string[] = []
    for (const event of recording.history) {
      const at = events.findIndex(({ eventId }) => eventId === event.id)
      const values = new Set([...leavesOf(events[at])].map(([, value]) => value))
      for (const [path, value] of leavesOf(event)) {
        if (values.has(value) || saidOtherwise(event, path, recording)) continue
        // What `prompted` says again is in the admission.
        const repeated = path[1] === 'prompt' || path[1] === 'delivery'
        if (repeated && byMessage.includes(JSON.stringify(value))) continue
        lost.push(`${event.type} ${path.join('.')} ${JSON.stringify(value)}`)
      }
    }
    t.same(lost, [], recording.name)
  }
})

t.test('what does not come in is named in the report, with the reason', async (t) => {
  for (const recording of readRecordings()) {
    const { events, report } = translateOpencodeV2(recording)
    const said = JSON.stringify(events)
    for (const [path, value] of leavesOf(recording.session)) {
      const named = report.left.some((line) => line.startsWith(`session.${path[0]}`))
      const literally =
        path.join('.') === 'time.created'
          ? said.includes(new Date(value as number).toISOString())
          : said.includes(JSON.stringify(value))
      t.ok(literally || named, `${recording.name}: session.${path.join('.')}`)
    }
    for (const member of ['messages', 'context', 'scenario']) {
      t.ok(report.left.some((line) => line.startsWith(`${member}: `)))
    }
  }
})

t.test('members that no version had yet are kept where they stand', async (t) => {
  const recording = readRecording('parallel-tools')
  const history = recording.history.map((event, index) => ({
    ...event,
    sealed: { by: index },
    data: { ...event.data, novel: [index, { deep: true }] },
  }))
  const { events } = translateOpencodeV2(withHistory(recording, history))
  for (const [index, { id }] of history.entries()) {
    const { meta } = events.find(({ eventId }) => eventId === id)!
    t.match(meta, {
      opencode: { novel: [index, { deep: true }], event: { sealed: { by: index } } },
    })
  }
})

t.test('a turn is started for a prompt and ends with the step that needs no more', async (t) => {
  const { events } = translateOpencodeV2(readRecording('two-prompts'))
  const turns = events.filter(({ type }) => type.startsWith('turn.'))
  t.same(
    turns.map(({ type, data }) => {
      const { fence, outcome } = data as { fence: number; outcome?: string }
      return [type, fence, outcome]
    }),
    [
      ['turn.started', 1, undefined],
      ['turn.ended', 1, 'completed'],
      ['turn.started', 2, undefined],
      ['turn.ended', 2, 'completed'],
    ],
  )
})

t.test('how a source ends is told from what it left open', async (t) => {
  const closings = (name: string) =>
    translateOpencodeV2(readRecording(name))
      .events.filter(({ meta }) => meta?.['importClosing'] === true)
      .map(({ type, data }) => {
        const { outcome, error, reason } = data as Record<string, { kind?: string } & string>
        return [type, outcome ?? error?.kind ?? reason]
          .filter((word) => word !== undefined)
          .join(' ')
      })
  t.same(closings('single-tool'), ['session.renamed'])
  t.same(closings('stream-without-finish'), [
    'step.failed incomplete',
    'turn.ended failed',
    'session.renamed',
  ])
  t.same(closings('question-pending'), [
    'request.closed cancelled',
    'tool.settled cancelled',
    'step.failed aborted',
    'turn.ended interrupted',
    'session.renamed',
  ])
  t.same(closings('question-rejected'), [
    'step.failed aborted',
    'turn.ended interrupted',
    'session.renamed',
  ])
})

t.test('only tools that look have the effect read', async (t) => {
  const recording = readRecording('single-tool')
  for (const [tool, effect] of [
    ['read', 'read'],
    ['grep', 'read'],
    ['glob', 'read'],
    ['list', 'read'],
    ['bash', 'once'],
    ['write', 'once'],
    ['webfetch', 'once'],
  ]) {
    const history = recording.history.map((event) =>
      event.type.endsWith('tool.called') ? { ...event, data: { ...event.data, tool } } : event,
    )
    const { events } = translateOpencodeV2(withHistory(recording, history))
    t.match(events.find(({ type }) => type === 'tool.called')?.data, { name: tool, effect })
  }
})

const mutations = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('drop' as const), at: fc.nat() }),
    fc.record({ kind: fc.constant('double' as const), at: fc.nat() }),
    fc.record({ kind: fc.constant('again' as const), at: fc.nat() }),
    fc.record({ kind: fc.constant('swap' as const), at: fc.nat(), to: fc.nat() }),
    fc.record({ kind: fc.constant('strip' as const), at: fc.nat(), member: fc.nat() }),
    fc.record({
      kind: fc.constant('odd' as const),
      at: fc.nat(),
      member: fc.nat(),
      value: fc.jsonValue({ maxDepth: 2 }),
    }),
  ),
  { minLength: 1, maxLength: 8 },
)

type Mutation = ReturnType<(typeof mutations)['generate']>['value'][number]

const mutate = (history: readonly RecordedEvent[], list: readonly Mutation[]): RecordedEvent[] => {
  const events = [...history]
  for (const mutation of list) {
    if (events.length === 0) return events
    const at = mutation.at % events.length
    const event = events[at]!
    if (mutation.kind === 'drop') events.splice(at, 1)
    else if (mutation.kind === 'double') events.splice(at, 0, event)
    else if (mutation.kind === 'again') events.splice(at, 0, { ...event, id: `${event.id}again` })
    else if (mutation.kind === 'swap') {
      const to = mutation.to % events.length
      events[at] = { ...event, durable: events[to]!.durable }
    } else {
      const names = Object.keys(event.data)
      const name = names[mutation.member % names.length]!
      const { [name]: _, ...rest } = event.data
      events[at] = {
        ...event,
        data: mutation.kind === 'strip' ? rest : { ...rest, [name]: mutation.value },
      }
    }
  }
  return events
}

/** Places are not compared: a copy that grew has closings between its events. */
const comparable = (messages: readonly Message[]): unknown[] =>
  messages.map((message) => ({ ...message, seq: undefined }))

t.test(
  'case 45: whatever is missing, doubled, out of order or odd in a source, the rest comes in',
  async () => {
    const recordings = readRecordings().filter(({ history }) => history.length < 100)
    fc.assert(
      fc.property(fc.nat(), mutations, fc.boolean(), fc.nat(), (pick, list, keepSeqs, at) => {
        const recording = recordings[pick % recordings.length]!
        const mutated = mutate(recording.history, list)
        const history = keepSeqs
          ? mutated
          : mutated.map((event, index) => ({ ...event, durable: { seq: index + 1 } }))
        const source = translateOpencodeV2(withHistory(recording, history))
        const rehearsal = rehearse()
        importInto(rehearsal, source)
        assert.equal(importInto(rehearsal, source).added, 0)
        const { turn, step } = rehearsal.session.state
        assert.deepEqual([turn, step], [undefined, undefined])
        const ids = new Set(rehearsal.log.map(({ eventId }) => eventId))
        assert.ok(history.every(({ id }) => ids.has(id)))
        assert.equal(ids.size, rehearsal.log.length)
        if (keepSeqs) return
        const grown = rehearse()
        const shorter = withHistory(recording, history.slice(0, at % (history.length + 1)))
        importInto(grown, translateOpencodeV2(shorter))
        importInto(grown, source)
        assert.deepEqual(comparable(messagesOf(grown)), comparable(messagesOf(rehearsal)))
      }),
      { numRuns: 300 },
    )
  },
)

t.test('case 45: doubled events come in once, and the report says so', async (t) => {
  const recording = readRecording('single-tool')
  const doubled = recording.history.flatMap((event) => [event, event])
  const { events, report } = translateOpencodeV2(withHistory(recording, doubled))
  t.same(events, translateOpencodeV2(recording).events)
  t.equal(report.mended.length, recording.history.length)
})

t.test('case 46: order is that of the seqs, never of times or ids', async (t) => {
  const recording = readRecording('two-prompts')
  const { events } = translateOpencodeV2(recording)
  const shuffled = recording.history.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const again = translateOpencodeV2(withHistory(recording, shuffled))
  t.same(again.events, events)
  t.same(again.report.mended, ['the events were not in the order of their seqs'])
  const early = recording.history.map((event) => ({
    ...event,
    data: { ...event.data, timestamp: 1 },
  }))
  t.same(
    translateOpencodeV2(withHistory(recording, early)).events.map(({ type }) => type),
    events.map(({ type }) => type),
  )
})

t.test('events that are missing from the file are named', async (t) => {
  const recording = readRecording('single-tool')
  const holed = recording.history.filter((_, index) => index !== 4 && index !== 5)
  const { report } = translateOpencodeV2(withHistory(recording, holed))
  t.ok(report.left.includes('events 5 to 6 of the source: they are not in the file'))
})

t.test(
  'ids of any form come in as ids of ours, each as another, and are kept beside',
  async (t) => {
    const recording = readRecording('parallel-tools')
    const calls = new Map<unknown, string>()
    const history = recording.history.map((event) => {
      const { callID } = event.data
      if (callID === undefined) return event
      if (!calls.has(callID)) calls.set(callID, `call ${calls.size}|${'x'.repeat(200)}`)
      return { ...event, data: { ...event.data, callID: calls.get(callID) } }
    })
    const { events } = translateOpencodeV2(withHistory(recording, history))
    importInto(rehearse(), translateOpencodeV2(withHistory(recording, history)))
    const ids = new Set(
      events
        .filter(({ type }) => type === 'tool.called')
        .map(({ data }) => (data as { callId: string }).callId),
    )
    t.equal(ids.size, calls.size)
    t.ok(canonicalJson(events).includes('call 0|xxx'))
  },
)

t.test('an unknown finish is an incomplete step, a known one is kept', async (t) => {
  const recording = readRecording('single-tool')
  const finishing = (finish: unknown) => {
    const history = recording.history.map((event) =>
      event.type.endsWith('step.ended') && event.data['finish'] === 'stop'
        ? { ...event, data: { ...event.data, finish } }
        : event,
    )
    return translateOpencodeV2(withHistory(recording, history))
      .events.filter(({ type }) => type === 'turn.ended' || type.startsWith('step.'))
      .slice(-2)
  }
  for (const finish of ['length', 'content-filter', 'refusal']) {
    t.match(finishing(finish), [
      { type: 'step.ended', data: { finish } },
      { type: 'turn.ended', data: { outcome: 'completed' } },
    ])
  }
  for (const finish of ['other', 'unknown', 'error', null, 7]) {
    t.match(finishing(finish), [
      {
        type: 'step.failed',
        data: { error: { kind: 'incomplete' } },
        meta: { opencode: { finish } },
      },
      { type: 'turn.ended', data: { outcome: 'failed' } },
    ])
  }
})
