import fc from 'fast-check'
import t from 'tap'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { LiveFrame } from '../../schema/socket/live.ts'
import { event, emptyReport } from '../../test/harness/rehearsal.ts'
import { addFrame, endParts, wholeOf, type LiveParts } from './live-parts.ts'

const at = { messageId: 'm', partId: 'p', kind: 'text' } as const
const delta = (offset: number, text: string): LiveFrame => ({ ...at, offset, delta: text })
const none: LiveParts = new Map()
const saidOf = (parts: LiveParts): (string | undefined)[] =>
  [...parts.values()].map(({ text }) => text)

t.test('pieces at their offsets make the text, whatever is sent twice', async () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 40 }),
      fc.array(fc.tuple(fc.nat(40), fc.nat(10))),
      (whole, more) => {
        let parts = none
        let out = ''
        let next = 0
        const take = (frame: LiveFrame): void => {
          const added = addFrame(parts, frame)
          parts = added.parts
          if (added.out && 'delta' in added.out) {
            if (added.out.offset !== out.length) throw new Error('a piece out of its place')
            out += added.out.delta
          }
        }
        for (const [step, back] of [...more, [40, 0]] as [number, number][]) {
          const from = Math.max(0, next - back)
          const to = Math.min(whole.length, next + step)
          take(delta(from, whole.slice(from, to)))
          next = Math.max(next, to)
        }
        return out === whole && (saidOf(parts)[0] ?? '') === whole
      },
    ),
  )
})

t.test('behind a gap listeners are told once, and a replace mends it', async (t) => {
  const first = addFrame(none, delta(0, 'ab'))
  const gap = addFrame(first.parts, delta(5, 'x'))
  t.same(gap.out, { resync: true, messageId: 'm', partId: 'p' })
  t.ok(gap.gap)
  const more = addFrame(gap.parts, delta(6, 'y'))
  t.match(more, { out: undefined, gap: true })
  t.same([...gap.parts.values()].map(wholeOf), [{ resync: true, messageId: 'm', partId: 'p' }])
  const mended = addFrame(more.parts, { ...at, replace: 'abcdexy' })
  t.match(mended, { out: { offset: 0, replace: 'abcdexy' }, gap: false })
  t.same(saidOf(addFrame(mended.parts, delta(7, '!')).parts), ['abcdexy!'])
})

t.test('a part that is too long is given up once: nobody is asked to send it anew', async (t) => {
  const mebibyte = 1024 * 1024
  for (const frame of [
    delta(0, 'x'.repeat(mebibyte + 1)),
    { ...at, replace: 'x'.repeat(mebibyte + 1) },
  ]) {
    const { parts, out, gap } = addFrame(none, frame)
    t.match(out, { resync: true })
    t.notOk(gap)
    t.same(saidOf(parts), [undefined])
    t.match(addFrame(parts, delta(mebibyte + 1, 'y')), { out: undefined, gap: false })
    t.match(addFrame(parts, { ...at, replace: 'short' }), { out: undefined, gap: false })
  }
})

t.test('what a session keeps is bounded, in parts and in text', async (t) => {
  let parts = none
  const say = (partId: string, frame: LiveFrame) => {
    const added = addFrame(parts, { ...frame, partId })
    ;({ parts } = added)
    return added
  }
  for (let n = 0; n < 300; n += 1) say(`p${n}`, delta(0, 'x'))
  t.equal(parts.size, 256)
  t.match(say('more', delta(0, 'x')), { out: { resync: true }, gap: false })
  t.match(say('more', delta(1, 'x')), { out: undefined, gap: false })
  for (let n = 0; n < 20; n += 1) say(`p${n}`, delta(1, 'x'.repeat(1_000_000)))
  const kept = saidOf(parts).reduce((sum, text) => sum + (text?.length ?? 0), 0)
  t.ok(kept <= 8 * 1024 * 1024, `${kept} code units`)
})

t.test('an event ends what it is about, and nothing else', async (t) => {
  const held = { turnId: 'trn_1', fence: 1 }
  const say = (frames: readonly LiveFrame[]): LiveParts =>
    frames.reduce((parts, frame) => addFrame(parts, frame).parts, none)
  const parts = say([
    { ...held, messageId: 'm', partId: 'a', kind: 'text', offset: 0, delta: 'a' },
    { ...held, messageId: 'm', partId: 'b', kind: 'reasoning', offset: 0, delta: 'b' },
    { ...held, messageId: 'm', partId: 'c', kind: 'tool-input', offset: 0, delta: 'c' },
    { ...held, messageId: 'm', partId: 'c', kind: 'tool-progress', offset: 0, delta: 'd' },
    { ...held, messageId: 'm', partId: 'a', attempt: 2, kind: 'text', offset: 0, delta: 'e' },
    { messageId: 'shell', partId: 'out', kind: 'tool-progress', offset: 0, delta: 'f' },
  ])
  const after = (ended: unknown): string => saidOf(endParts(parts, ended as StoredEvent)).join('')
  const ids = { messageId: 'm', callId: 'c' }
  t.equal(after(event('text.ended', { messageId: 'm', partId: 'b', text: '' })), 'acdef')
  t.equal(after(event('tool.input.ended', { ...ids, name: 'x', text: '' })), 'abdef')
  t.equal(after(event('tool.settled', { ...ids, outcome: 'ok', content: [] })), 'abef')
  const error = { kind: 'provider', message: '' } as const
  t.equal(after(event('step.retried', { messageId: 'm', attempt: 2, error })), 'ef')
  t.equal(after(event('step.failed', { messageId: 'm', error })), 'f')
  const claim = { turnId: 'trn_1', ownerId: 'b', incarnation: 1, fromOwnerId: 'a', fromFence: 1 }
  t.equal(after(event('turn.claimed', { ...claim, fence: 2, report: emptyReport })), 'f')
  t.equal(after(event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 1 })), 'f')
  t.equal(after(event('session.deleted', {})), '')
  t.equal(after(event('session.viewed', {})), 'abcdef')
})
