import fc from 'fast-check'
import t from 'tap'
import { splitEvents } from './split-events.ts'
import type { TranslatedEvent } from './translation.ts'

const eventsOf = (own: readonly number[], closings: number): TranslatedEvent[] =>
  [...own, ...Array.from({ length: closings }, () => -1)].map((size, index) => ({
    eventId: `evt_${index}`,
    type: 'x.test',
    version: 1,
    occurredAt: '2026-11-30T00:00:00.000Z',
    data: 'x'.repeat(Math.max(size, 0)),
    meta: size === -1 ? { importClosing: true } : {},
  }))

t.test(
  'calls keep order and limits, and the last one has the closings with an event of the source',
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(300), { minLength: 1, maxLength: 60 }),
        fc.nat(5),
        fc.integer({ min: 7, max: 20 }),
        (own, closings, most) => {
          const events = eventsOf(own, closings)
          const batches = splitEvents(events, { events: most, bytes: 4000 })
          t.same(batches.flat(), events)
          for (const batch of batches) {
            t.ok(batch.length <= most)
            t.ok(Buffer.byteLength(JSON.stringify(batch)) <= 4001)
          }
          t.notOk(batches.at(-1)![0]!.meta?.['importClosing'])
        },
      ),
      { numRuns: 100 },
    )
  },
)

t.test(
  'an event that is too large by itself is sent by itself, for the service to refuse',
  async (t) => {
    const batches = splitEvents(eventsOf([10, 9000, 10], 0), { events: 10, bytes: 2000 })
    t.same(
      batches.map(({ length }) => length),
      [1, 1, 1],
    )
  },
)

t.test('nothing gives no call', async (t) => {
  t.same(splitEvents([], { events: 10, bytes: 10 }), [])
})
