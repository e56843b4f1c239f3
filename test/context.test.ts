import fc from 'fast-check'
import t from 'tap'
import { fold } from '../projections/transcript/fold.ts'
import { emptyView } from '../projections/transcript/view.ts'
import type { StoredEvent } from '../schema/events/envelope.ts'
import type { Context } from '../schema/http/context.ts'
import { translateOpencodeV2 } from '../services/adapters/opencode-v2/translate.ts'
import { contextOf } from './harness/context-of.ts'
import { importInto } from './harness/import-rehearsal.ts'
import { readRecordings } from './harness/opencode-messages.ts'
import { brokenRules } from './harness/provider-messages/check.ts'
import { randomSession } from './harness/random-session.ts'
import { rehearse } from './harness/rehearsal.ts'
import { seeded } from './harness/seeded.ts'
import { spoil } from './harness/spoil.ts'

type Found = { readonly seq: number; readonly broken: readonly string[] }
type Change = (event: StoredEvent) => StoredEvent

const occurredAt = '2026-01-01T00:00:00.000Z'

/** What providers would refuse of the contexts of a log's prefixes, and the contexts of the whole. */
const checkPrefixes = (
  log: readonly object[],
  change: Change = (event) => event,
  stride = log.length > 200 ? 37 : 1,
) => {
  const view = emptyView()
  const found: Found[] = []
  const contexts: Context[] = []
  for (const [index, given] of log.entries()) {
    fold(view, change({ ...given, occurredAt, recordedAt: occurredAt } as StoredEvent))
    const seq = index + 1
    if (seq % stride !== 0 && seq !== log.length) continue
    for (const waiting of [undefined, 'placeholder'] as const) {
      const context = contextOf(view, seq, { waiting })
      const broken = brokenRules(context.entries)
      if (broken.length > 0) found.push({ seq, broken })
      contexts.push(context)
    }
  }
  return { found, contexts }
}

t.test(
  'case 15: the context of every moment of every recording is what three providers accept',
  async (t) => {
    let calls = 0
    let answered = 0
    for (const recording of readRecordings()) {
      const rehearsal = rehearse()
      importInto(rehearsal, translateOpencodeV2(recording))
      const { found, contexts } = checkPrefixes(rehearsal.log)
      t.same(found, [], recording.name)
      const { entries, leftOut } = contexts.at(-1)!
      calls += entries.filter(({ role }) => role === 'tool').length
      answered += leftOut.filter(({ reason }) => reason === 'answer').length
    }
    t.ok(calls > 20, `${calls} results were there to be refused`)
    t.ok(answered > 0, 'and an answer')
  },
)

const sessions = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  turns: fc.integer({ min: 1, max: 8 }),
})

t.test(
  'the context of every moment of a random session is what three providers accept',
  async (t) => {
    fc.assert(
      fc.property(sessions, ({ seed, turns }) => {
        const { log } = randomSession(seeded(seed), turns)
        t.same(checkPrefixes(log, undefined, 3).found, [])
      }),
      { numRuns: 60 },
    )
  },
)

t.test(
  'blank texts, doubled ids, inputs without form and thoughts that led nowhere do not change that',
  async (t) => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(sessions, ({ seed, turns }) => {
        const { log } = randomSession(seeded(seed), turns)
        const { found, contexts } = checkPrefixes(log, spoil(seeded(seed)), 3)
        t.same(found, [])
        for (const { leftOut, changed } of contexts) {
          for (const { reason } of leftOut) seen.add(reason)
          for (const { what } of changed) seen.add(what)
        }
      }),
      { numRuns: 120, examples: [[{ seed: 7, turns: 8 }], [{ seed: 11, turns: 8 }]] },
    )
    const reasons = 'excluded superseded unsettled nameless partial nothing-follows empty'
    const whats = 'callId name input characters'
    for (const what of `${reasons} ${whats}`.split(' ')) t.ok(seen.has(what), `${what} was met`)
  },
)

t.test('a context that grows keeps the ids that its calls had', async (t) => {
  fc.assert(
    fc.property(sessions, ({ seed, turns }) => {
      const { log } = randomSession(seeded(seed), turns)
      let before = new Map<string, string>()
      let first: string | undefined
      const { contexts } = checkPrefixes(log, spoil(seeded(seed)), 5)
      for (const { entries } of contexts.filter((_, index) => index % 2 === 0)) {
        const now = new Map<string, string>(
          entries.flatMap((entry) =>
            entry.role === 'tool'
              ? [[`${entry.messageId}/${entry.partId}`, entry.callId] as const]
              : [],
          ),
        )
        // After a compaction the context is another.
        if (entries[0]?.messageId === first) {
          for (const [part, callId] of before) if (now.has(part)) t.equal(now.get(part), callId)
        }
        before = now
        first = entries[0]?.messageId
      }
    }),
    { numRuns: 40 },
  )
})
