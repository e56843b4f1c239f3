export type SseEvent = {
  readonly event: string
  readonly id: string | undefined
  readonly data: unknown
}

/** A reader of server-sent events that keeps all it gets. */
export type SseClient = Disposable & {
  readonly headers: Headers
  readonly events: SseEvent[]
  readonly wait: (is: (event: SseEvent) => boolean, ms?: number) => Promise<SseEvent>
  readonly closed: Promise<void>
}

export const openSse = async (
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SseClient> => {
  const stop = new AbortController()
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: stop.signal,
  })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  const events: SseEvent[] = []
  const waiting = new Set<(event: SseEvent) => void>()
  const read = async (): Promise<void> => {
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = parse(text.slice(0, end))
        text = text.slice(end + 2)
        if (!event) continue
        events.push(event)
        for (const look of waiting) look(event)
      }
    }
  }
  const closed = read().catch(() => {})
  return {
    headers: response.headers,
    events,
    closed,
    wait: (is, ms = 20_000) => {
      const there = events.find(is)
      if (there) return Promise.resolve(there)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no such event within ${ms} ms`)), ms)
        const look = (event: SseEvent): void => {
          if (!is(event)) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(event)
        }
        waiting.add(look)
      })
    },
    [Symbol.dispose]: () => stop.abort(),
  }
}

const parse = (block: string): SseEvent | undefined => {
  const lines = block.split('\n').filter((line) => !line.startsWith(':'))
  const of = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const data = of('data')
  if (data === undefined) return undefined
  return { event: of('event') ?? 'message', id: of('id'), data: JSON.parse(data) as unknown }
}
