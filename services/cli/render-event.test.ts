import fc from 'fast-check'
import t from 'tap'
import type { Envelope } from '../../schema/events/envelope.ts'
import { coloured, plain } from './paint.ts'
import { renderEvent, renderLive, type EventView } from './render-event.ts'

const view: EventView = { columns: 80, paint: plain, withSession: false }

const envelope = (type: string, data: unknown): Envelope => ({
  sessionId: 'ses_1',
  seq: 7,
  eventId: 'evt_1',
  type,
  version: 1,
  occurredAt: '2026-12-01T09:14:03.123456Z',
  recordedAt: '2026-12-01T09:14:03.123456Z',
  data,
  meta: {},
})

t.test('an event is one line: seq, time, type and what it says, cut to the columns', async (t) => {
  t.equal(
    renderEvent(envelope('tool.called', { callId: 'c', name: 'bash', input: { a: 1 } }), view),
    '     7  2026-12-01 09:14:03  tool.called           bash {"a":1} c\n',
  )
  t.equal(
    renderEvent(envelope('text.ended', { messageId: 'm', text: 'word '.repeat(20) }), view),
    '     7  2026-12-01 09:14:03  text.ended            word word word word word wor…\n',
  )
  const claimed = { turnId: 't', ownerId: 'b', fromOwnerId: 'a', fence: 2 }
  t.match(renderEvent(envelope('turn.claimed', claimed), view), /turn\.claimed +b a t\n$/)
  t.match(renderEvent(envelope('x.own', { any: [1] }), view), /x\.own +\{"any":\[1\]\}\n$/)
  t.match(renderEvent(envelope('turn.ended', {}), view), /turn\.ended\n$/)
  t.match(renderEvent(envelope('x.own', {}), { ...view, withSession: true }), /^ses_1 +7 /)
  t.match(renderEvent(envelope('tool.called', {}), { ...view, paint: coloured }), 'tool.called')
})

t.test('what a part says is a line beside those of events', async (t) => {
  const part = { messageId: 'm', partId: 'p', kind: 'text', attempt: 1, offset: 0 } as const
  t.match(renderLive({ ...part, delta: 'a\nb' }, view), /^ {29}live text {13}m\/p a⏎b\n$/)
  t.match(renderLive({ resync: true, messageId: 'm', partId: 'p' }, view), /live gap +m\/p\n$/)
})

t.test('nothing in an event can drive the terminal or make a second line', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('text.ended', 'tool.settled', 'x.own', '\u001b[2J'),
      fc.jsonValue(),
      (text, type, value) => {
        const line = renderEvent(envelope(type, { text, outcome: value }), view)
        // oxlint-disable-next-line no-control-regex
        t.match(line, /^[^\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]*\n$/)
      },
    ),
  )
})
