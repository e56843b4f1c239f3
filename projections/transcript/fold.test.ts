import fc from 'fast-check'
import t from 'tap'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { randomSession } from '../../test/harness/random-session.ts'
import { seeded } from '../../test/harness/seeded.ts'
import { fold } from './fold.ts'
import { partKey, type MessageRow, type PartRow, type TranscriptProgress } from './rows.ts'
import { shownPlaces } from './shown-places.ts'
import { toMessage } from './to-message.ts'
import { touches } from './touches.ts'
import { emptyView, type TranscriptView } from './view.ts'

const stored = (events: readonly object[]): StoredEvent[] =>
  events.map((e, index) => {
    const at = new Date(1_800_000_000_000 + index).toISOString()
    return { occurredAt: at, recordedAt: at, ...e } as StoredEvent
  })

const foldAll = (events: readonly StoredEvent[]): TranscriptView => {
  const view = emptyView()
  for (const event of events) fold(view, event)
  return view
}

/** As the projector does it: rows are JSON in tables, and only what a chunk touches is loaded. */
const foldThroughRows = (events: readonly StoredEvent[], sizes: readonly number[]) => {
  const messages = new Map<string, string>()
  const parts = new Map<string, string>()
  let progress = '{}'
  let at = 0
  for (let n = 0; at < events.length; n += 1) {
    const chunk = events.slice(at, at + sizes[n % sizes.length]!)
    at += chunk.length
    const view = emptyView(JSON.parse(progress) as TranscriptProgress)
    for (const event of chunk) {
      const touched = touches(event, view.progress)
      for (const id of touched.messageIds) {
        const row = messages.get(id)
        if (row !== undefined) view.messages.set(id, JSON.parse(row) as MessageRow)
      }
      for (const { messageId, partId } of touched.parts) {
        for (let attempt = 1; attempt < 9; attempt += 1) {
          const row = parts.get(partKey(messageId, attempt, partId))
          if (row !== undefined)
            view.parts.set(partKey(messageId, attempt, partId), JSON.parse(row) as PartRow)
        }
      }
    }
    for (const event of chunk) fold(view, event)
    for (const id of view.changedMessages) messages.set(id, JSON.stringify(view.messages.get(id)))
    for (const key of view.changedParts) parts.set(key, JSON.stringify(view.parts.get(key)))
    progress = JSON.stringify(view.progress)
  }
  return { messages, parts, progress }
}

const sessions = fc.record({
  randoms: fc.infiniteStream(fc.double({ min: 0, max: 0.999999, noNaN: true })),
  turns: fc.integer({ min: 1, max: 5 }),
  sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
})

t.test(
  'replay equals live: rows folded in chunks of any size equal rows folded at once',
  async (t) => {
    fc.assert(
      fc.property(sessions, ({ randoms, turns, sizes }) => {
        const events = stored(randomSession(() => randoms.next().value as number, turns).log)
        const whole = foldAll(events)
        const rows = foldThroughRows(events, sizes)
        t.same(
          [...rows.messages].map(([id, row]) => [id, JSON.parse(row) as unknown]).toSorted(),
          [...whole.messages]
            .map(([id, row]) => [id, JSON.parse(JSON.stringify(row)) as unknown])
            .toSorted(),
        )
        t.same(
          [...rows.parts].map(([key, row]) => [key, JSON.parse(row) as unknown]).toSorted(),
          [...whole.parts]
            .map(([key, row]) => [key, JSON.parse(JSON.stringify(row)) as unknown])
            .toSorted(),
        )
        t.same(JSON.parse(rows.progress), JSON.parse(JSON.stringify(whole.progress)))
      }),
      { numRuns: 60 },
    )
  },
)

t.test(
  'nothing is left running when no turn is: no open call, part or step is shown',
  async (t) => {
    fc.assert(
      fc.property(sessions, ({ randoms, turns }) => {
        const events = stored(randomSession(() => randoms.next().value as number, turns).log)
        const view = foldAll(events)
        for (const row of view.messages.values()) {
          if (row.type === 'assistant') t.ok(row.data.completedAt, row.messageId)
        }
        for (const part of view.parts.values()) {
          if (part.type === 'tool') t.equal(part.data.status, 'settled')
          t.ok(part.endSeq !== null, 'and each part knows its end')
        }
      }),
      { numRuns: 40 },
    )
  },
)

t.test('folding an event that is folded already changes nothing', async (t) => {
  const events = stored(randomSession(seeded(7), 3).log)
  const view = foldAll(events)
  const before = JSON.stringify([...view.messages.keys(), ...view.parts.keys()])
  for (const event of events) fold(view, event)
  t.equal(JSON.stringify([...view.messages.keys(), ...view.parts.keys()]), before)
})

t.test('case 43: an event type of a newer writer is skipped', async (t) => {
  const events = stored(randomSession(seeded(3), 2).log)
  const newer = {
    ...events[2]!,
    type: 'step.dreamt',
    data: { messageId: 'msg_9' },
  } as unknown as StoredEvent
  const rows = (list: readonly StoredEvent[]) => JSON.stringify([...foldAll(list).messages.keys()])
  t.equal(rows([...events.slice(0, 3), newer, ...events.slice(3)]), rows(events))
})

t.test(
  'a committed revert shows what its lineage names and what came after it, from the first day',
  async (t) => {
    const cut = {
      seq: 20,
      lineage: [
        { sessionId: 'ses_1', fromPlace: 1, throughPlace: 8, asOfSeq: 20, except: ['msg_x'] },
      ],
    }
    t.same(shownPlaces({ cuts: [cut] }, 'ses_1', 30), {
      ranges: [
        { from: 1, through: 8 },
        { from: 21, through: 30 },
      ],
      except: new Set(['msg_x']),
    })
    t.same(
      shownPlaces({ cuts: [cut] }, 'ses_1', 19).ranges,
      [{ from: 0, through: 19 }],
      'but not before',
    )
  },
)

t.test('a retry supersedes the parts of its attempt, and their cost counts', async (t) => {
  const model = { modelId: 'm', providerId: 'p' }
  const tokens = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
  const data = [
    ['step.started', { messageId: 'm', attempt: 1, agent: 'a', model }],
    ['text.ended', { messageId: 'm', partId: 't', text: 'first' }],
    ['step.streamed', { messageId: 'm', finish: 'stop', cost: 1, tokens }],
    ['step.retried', { messageId: 'm', attempt: 2, error: { kind: 'provider', message: '' } }],
    ['text.ended', { messageId: 'm', partId: 't', text: 'second' }],
    ['step.ended', { messageId: 'm', finish: 'stop', cost: 2, tokens }],
  ] as const
  const view = foldAll(
    stored(data.map(([type, d], n) => ({ seq: n + 1, type, data: d, meta: {} }))),
  )
  const message = toMessage('ses_1', view.messages.get('m')!, [...view.parts.values()])
  t.same(
    message.parts?.map((part) => part.text),
    ['second'],
  )
  t.equal(message.cost, 3)
  const all = toMessage('ses_1', view.messages.get('m')!, [...view.parts.values()], {
    includeHidden: true,
  })
  t.same(
    all.parts?.map((part) => [part.text, part.superseded ?? false]),
    [
      ['first', true],
      ['second', false],
    ],
  )
})
