import type { ServerResponse } from 'node:http'
import type { RouteDeps } from '../deps.ts'
import type { CaughtUp, Sink } from '../../streams/sink.ts'
import { openOutlet, type Outlet } from '../outlet.ts'

export type SseSink = Sink & {
  readonly live: (frame: unknown) => boolean
  readonly caughtUpAt: (listener: (at: CaughtUp) => void) => void
}

/**
 * Serves one subscription as server-sent events until it ends, the client goes or `stopping` is
 * aborted. `follow` gets the sink and the signal that ends it.
 */
export const serveSse = async (
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  { stopping, outlets, settings }: Pick<RouteDeps, 'stopping' | 'outlets' | 'settings'>,
  isAllowed: () => Promise<boolean>,
  follow: (sink: SseSink, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // The end of the stream is the end of the connection: an idle one would hold up a server that stops.
    connection: 'close',
    // Proxies that hold replies back let this one through.
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  response.socket?.setNoDelay(true)
  response.on('close', end)
  stopping.addEventListener('abort', end)
  // The client may have gone, or the server begun to stop, while the session was looked up.
  if (stopping.aborted || response.destroyed) end()
  response.on('error', end)
  const outlet = openOutlet(
    { send: (text, sent) => response.write(text, sent) },
    settings.drainTimeoutMs,
    () => {
      end()
      response.destroy()
    },
    () => {},
  )
  const sink = sinkOf(outlet)
  const keepAlive = setInterval(() => {
    outlet.send(': still here\n\n')
    void isAllowed().then((allowed) => {
      if (allowed || stop.signal.aborted) return
      sink.forbid()
      end()
    })
  }, settings.heartbeatMs / 2)
  const close = (): void => outlet[Symbol.dispose]()
  if (stop.signal.aborted) close()
  else stop.signal.addEventListener('abort', close)
  outlets.add(outlet)
  try {
    await follow(sink, stop.signal)
  } finally {
    clearInterval(keepAlive)
    outlets.delete(outlet)
    stopping.removeEventListener('abort', end)
    stop.abort()
    response.end()
  }
}

const sinkOf = (outlet: Outlet): SseSink & { readonly forbid: () => void } => {
  let place: { readonly afterSeq: number } | { readonly cursor: string } | undefined
  let onCaughtUp: ((at: CaughtUp) => void) | undefined
  const write = (event: string, data: string, id?: string): void => {
    const idLine = id === undefined ? '' : `id: ${id}\n`
    // JSON holds no raw line break.
    outlet.send(`${idLine}event: ${event}\ndata: ${data}\n\n`)
  }
  return {
    turn: (work) => outlet.turn(work),
    event: (envelope, { seq, cursor }) => {
      place = cursor === undefined ? { afterSeq: seq } : { cursor }
      write('event', envelope, cursor ?? String(seq))
    },
    forbid: () => write('ended', JSON.stringify({ reason: 'forbidden', ...place })),
    caughtUp: (at) => {
      place = 'seq' in at ? { afterSeq: at.seq } : { cursor: at.cursor }
      write('caught-up', JSON.stringify(at), 'seq' in at ? String(at.seq) : at.cursor)
      onCaughtUp?.(at)
    },
    reset: (reset) => write('reset', JSON.stringify(reset)),
    ended: (ended) => write('ended', JSON.stringify(ended)),
    live: (frame) => {
      if (!outlet.hasRoom()) return false
      write('live', JSON.stringify(frame))
      return true
    },
    caughtUpAt: (listener) => (onCaughtUp = listener),
  }
}
