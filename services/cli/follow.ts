import type { Envelope } from '../../schema/events/envelope.ts'
import type { LiveOut } from '../../schema/socket/live.ts'
import type { Ended, Reset } from '../streams/sink.ts'
import { ServiceProblem, ServiceUnreachable, type ServiceClient } from './client-request.ts'
import { isOutage, pauses, type Line } from './outage.ts'
import { readSse, type SseEvent } from './read-sse.ts'

/** What comes out of a stream; `reset` and `ended` are the last. */
export type Followed =
  | { readonly kind: 'event'; readonly envelope: Envelope; readonly text: string }
  | { readonly kind: 'caught-up' }
  | { readonly kind: 'live'; readonly frame: LiveOut; readonly text: string }
  | ({ readonly kind: 'reset' } & Reset)
  | ({ readonly kind: 'ended' } & Ended)

export type Following = {
  readonly path: string
  /** Where to begin, as the query says it; where to go on is put in its place. */
  readonly from: { readonly afterSeq?: number } | { readonly after?: string }
  readonly types?: readonly string[] | undefined
}

/** The server says something every 15 s, if only that it is there. */
const silentMs = 45_000

/**
 * Follows a stream of events for good, each once and in order: a line that is lost is taken up again
 * after the last event that came. Ends with a reset, an end, or the signal. Throws what the service
 * refuses, and an outage only before it has answered for the first time.
 */
export async function* follow(
  client: ServiceClient,
  { path, from, types }: Following,
  line: Line,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const isAll = !('afterSeq' in from)
  let place: string | number | undefined = isAll
    ? (from as { after?: string }).after
    : from.afterSeq
  let log: string | undefined
  let answered = false
  const pause = pauses()

  const query = () => ({
    [isAll ? 'after' : 'afterSeq']: place,
    log: isAll ? undefined : log,
    types: types?.join(','),
  })

  while (!signal.aborted) {
    try {
      for await (const event of openLines(client, path, query(), signal)) {
        answered = true
        const followed = read(event)
        if (followed?.kind === 'reset') {
          yield followed
          return
        }
        pause.reset()
        line.back()
        if (event.id !== undefined) place = event.id
        if (event.name === 'caught-up') ({ log } = JSON.parse(event.data) as { log: string })
        if (followed) yield followed
        if (followed?.kind === 'ended' || signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      // It was deleted while nobody told us.
      if (answered && error instanceof ServiceProblem && error.problem.code === 'session_deleted') {
        yield { kind: 'ended', reason: 'deleted', afterSeq: Number(place) }
        return
      }
      if (!answered || !isOutage(error)) throw error
    }
    // A stream that we broke off ourselves may end without an error.
    if (signal.aborted) return
    line.lost()
    await pause.next(signal)
  }
}

/** One connection's events. Throws ServiceUnreachable when it breaks or falls silent. */
async function* openLines(
  client: ServiceClient,
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): AsyncGenerator<SseEvent> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), silentMs)
  const heard = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) {
        timer.refresh()
        yield chunk
      }
    } catch (error) {
      throw new ServiceUnreachable(client.url, error)
    }
  }
  try {
    const body = await client.stream(path, query, AbortSignal.any([signal, silence.signal]))
    yield* readSse(heard(body))
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

const read = ({ name, data }: SseEvent): Followed | undefined => {
  switch (name) {
    case 'event':
      return { kind: 'event', envelope: JSON.parse(data) as Envelope, text: data }
    case 'caught-up':
      return { kind: 'caught-up' }
    case 'live':
      return { kind: 'live', frame: JSON.parse(data) as LiveOut, text: data }
    case 'reset':
      return { kind: 'reset', ...(JSON.parse(data) as Reset) }
    case 'ended':
      return { kind: 'ended', ...(JSON.parse(data) as Ended) }
    default:
      return undefined
  }
}
