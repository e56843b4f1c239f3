import fc from 'fast-check'
import t from 'tap'
import { readSse, type SseEvent } from './read-sse.ts'

const text = [
  ': hello\n\n',
  'id: 1\nevent: event\ndata: {"text":"naïve 日本語 👍🏽"}\n\n',
  'data: two\r\ndata:lines\r\n\r\n',
  'event: empty\n\n',
  'retry: 5\nevent: caught-up\nid: x\ndata\n\n',
  'event: cut off\ndata: by the end',
].join('')

const events: readonly SseEvent[] = [
  { name: 'event', data: '{"text":"naïve 日本語 👍🏽"}', id: '1' },
  { name: 'message', data: 'two\nlines' },
  { name: 'caught-up', data: '', id: 'x' },
]

t.test('server-sent events are the same however their bytes are cut', async (t) => {
  const bytes = new TextEncoder().encode(text)
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat({ max: bytes.length })), async (cuts) => {
      const ends = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const chunks = ends.slice(1).map((end, n) => bytes.subarray(ends[n], end))
      const body = async function* (): AsyncGenerator<Uint8Array> {
        yield* chunks
      }
      t.same(await Array.fromAsync(readSse(body())), events)
    }),
    { numRuns: 50 },
  )
})
