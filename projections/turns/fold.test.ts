import t from 'tap'
import { event, emptyReport } from '../../test/harness/rehearsal.ts'
import { foldTurn } from './fold.ts'
import { mostClaims, type TurnRow } from './turn-row.ts'

const at = (seq: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString()

const foldAll = (events: readonly ReturnType<typeof event>[]): TurnRow | undefined =>
  events.reduce<TurnRow | undefined>(
    (turn, e, n) => foldTurn(turn, { ...e, seq: n + 1, occurredAt: at(n), recordedAt: at(n) }),
    undefined,
  )

const started = event('turn.started', {
  turnId: 't',
  ownerId: 'a',
  incarnation: 1,
  fence: 1,
  inputs: [],
})
const claimed = (fence: number) =>
  event('turn.claimed', {
    turnId: 't',
    ownerId: `b${fence}`,
    incarnation: fence,
    fromOwnerId: 'a',
    fromFence: fence - 1,
    fence,
    report: emptyReport,
  })
const interrupt = (graceMs?: number) =>
  event('turn.interrupt.requested', {
    turnId: 't',
    reason: 'r',
    by: { subject: 's' },
    ...(graceMs !== undefined && { graceMs }),
  })
const ended = event('turn.ended', { turnId: 't', outcome: 'failed', fence: 4 })

t.test(
  'a turn is held by who started it, released by nobody, then by who claimed it last',
  async (t) => {
    t.match(foldAll([started]), {
      ownerId: 'a',
      incarnation: 1,
      fence: 1,
      released: false,
      heldSeq: 1,
    })
    const released = [started, event('turn.released', { turnId: 't', fence: 2 })]
    t.match(foldAll(released), { ownerId: 'a', fence: 2, released: true, heldSeq: 2 })
    t.match(foldAll([...released, claimed(3)]), {
      ownerId: 'b3',
      incarnation: 3,
      fence: 3,
      released: false,
      startedSeq: 1,
      heldSeq: 3,
      claims: [{ ownerId: 'b3', fromOwnerId: 'a', fromFence: 2, fence: 3, seq: 3 }],
    })
  },
)

t.test('of many claims the last ones are kept', async (t) => {
  const claims = Array.from({ length: 50 }, (_, n) => claimed(n + 2))
  const turn = foldAll([started, ...claims])
  t.equal(turn?.claims.length, mostClaims)
  t.equal(turn?.claims.at(-1)?.fence, 51)
})

t.test('the first request to interrupt counts, and the grace that was given last', async (t) => {
  t.match(foldAll([started, interrupt()]), { interruptSeq: 2, interruptDueAt: null })
  const hurried = foldAll([started, interrupt(60_000), interrupt(), interrupt(1_000)])
  t.match(hurried, { interruptSeq: 2, interruptDueAt: at(4) })
  t.match(foldAll([started, interrupt(Number.MAX_SAFE_INTEGER)]), { interruptDueAt: /^21/ })
  t.match(foldAll([started, interrupt(0), claimed(2)]), { interruptSeq: 2, interruptDueAt: at(1) })
})

t.test(
  'an end is kept; what an importer ended goes on with the events of its source',
  async (t) => {
    t.match(foldAll([started, ended]), { outcome: 'failed', endedSeq: 2, endedAt: at(1), fence: 4 })
    const again = event('turn.ended', { turnId: 't', outcome: 'completed', fence: 4 })
    t.match(foldAll([started, ended, again]), { outcome: 'completed', endedSeq: 3 })
    t.match(foldAll([started, ended, claimed(5)]), { outcome: null, endedSeq: null, fence: 5 })
    t.equal(foldAll([ended]), undefined)
  },
)
