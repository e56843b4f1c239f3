import t from 'tap'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { plain } from './paint.ts'
import { renderMessages, type TranscriptView } from './render-transcript.ts'
import { addNote, marksBetween, noNotes } from './transcript-notes.ts'

const event = (seq: number, type: string, data: object): StoredEvent =>
  ({ seq, type, data, occurredAt: '2026-12-07T11:53:00.000Z' }) as unknown as StoredEvent

const started = (seq: number, turnId: string): StoredEvent =>
  event(seq, 'turn.started', { turnId, ownerId: 'me', inputs: [], fence: 1 })
const ended = (seq: number, turnId: string, outcome: string): StoredEvent =>
  event(seq, 'turn.ended', { turnId, outcome, fence: 1 })

const seqs = (notes: ReturnType<typeof noNotes>, after = 0, through = 1_000): number[] =>
  marksBetween(notes, 's', after, through).map(({ seq }) => seq)

t.test('an event that comes again is noted once, and what is not known is skipped', async (t) => {
  const notes = noNotes()
  for (const given of [started(1, 'a'), started(1, 'a'), event(2, 'constructor', {})]) {
    addNote(notes, given)
  }
  t.same([seqs(notes), notes.seq], [[1], 2])
  t.same(seqs(notes, 1), [], 'behind a seq')
})

t.test('the end that an importer gave a turn goes when the turn has ended later', async (t) => {
  const notes = noNotes()
  addNote(notes, ended(1, 'a', 'interrupted'))
  addNote(notes, ended(2, 'b', 'completed'))
  addNote(notes, ended(3, 'a', 'completed'))
  t.same(seqs(notes), [2, 3])
})

t.test('what a revert cut off is not told, until it is reinstated', async (t) => {
  const notes = noNotes()
  for (const seq of [1, 2, 3, 4]) addNote(notes, started(seq, `t${seq}`))
  const keep = (throughPlace: number): object => ({
    lineage: [{ sessionId: 's', fromPlace: 0, throughPlace, asOfSeq: 4, except: [] }],
  })
  addNote(notes, event(5, 'revert.committed', keep(2)))
  addNote(notes, started(6, 't6'))
  t.same(seqs(notes), [1, 2, 6])
  addNote(notes, event(7, 'revert.reinstated', keep(4)))
  t.same(seqs(notes), [1, 2, 3, 4])
})

t.test('marks are told at their place among the messages, each once', async (t) => {
  const notes = noNotes()
  addNote(notes, started(1, 'a'))
  addNote(notes, event(4, 'step.retried', { messageId: 'm3', attempt: 2, error: { kind: 'tool' } }))
  addNote(notes, ended(5, 'a', 'completed'))
  addNote(notes, started(6, 'b'))
  const view: TranscriptView = {
    notes,
    sessionId: 's',
    full: false,
    columns: 40,
    paint: plain,
    now: 0,
  }
  const message = (seq: number, given: object) =>
    ({
      messageId: `m${seq}`,
      sessionId: 's',
      seq,
      createdAt: '2026-12-07T11:53:00Z',
      ...given,
    }) as never
  const first = renderMessages(
    [
      message(2, { type: 'user', text: 'hello', turnId: 'a' }),
      message(3, { type: 'assistant', completedAt: 'x', finish: 'stop', attempt: 2, turnId: 'a' }),
    ],
    view,
    { seq: 0 },
  )
  t.equal(
    first.text,
    `
── 2026-12-07 11:53 ── a by me ─────────

user
  hello

assistant (no model, attempt 2)
  attempt 1 failed: tool; tried again
`,
  )
  const then = renderMessages([message(7, { type: 'user', turnId: 'b' })], view, first.printed, 9)
  t.equal(
    then.text,
    `
turn completed

── 2026-12-07 11:53 ── b by me ─────────

user
`,
  )
  t.equal(renderMessages([], view, then.printed, 9).text, '')
  const elsewhere = message(5, { sessionId: 'parent', type: 'user', turnId: 'p' })
  const inherited = renderMessages([elsewhere], view, { seq: 0 }, 0).text
  t.match(inherited, /^\n── 2026-12-07 11:53 ── p ─+\n\nuser\n$/, 'not among those of an ancestor')
})
