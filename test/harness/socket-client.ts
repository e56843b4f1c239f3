import { WebSocket } from 'ws'

export type Frame = {
  readonly sub?: string
  readonly ref?: string
  readonly event?: { readonly seq: number; readonly eventId: string; readonly type: string } & {
    readonly sessionId: string
    readonly data: never
  }
  readonly cursor?: string
  readonly caughtUp?: { readonly seq: number; readonly cursor: string; readonly log: string }
  readonly live?: Readonly<Record<string, unknown>>
  readonly reset?: { readonly reason: string; readonly oldestSeq: number }
  readonly ended?: { readonly reason: string; readonly afterSeq: number }
  readonly error?: { readonly code: string; readonly status: number } & {
    readonly errors?: readonly { readonly pointer: string }[]
  }
  readonly ok?: { readonly firstSeq: number; readonly lastSeq: number; readonly headSeq: number }
  readonly pong?: true
  readonly goingAway?: { readonly subs: readonly { readonly sub: string; afterSeq: number }[] }
}

/** A client of `/v1/stream` that keeps all it gets. */
export type SocketClient = Disposable & {
  readonly socket: WebSocket
  readonly frames: Frame[]
  readonly send: (frame: unknown) => void
  /** The first frame that is so, of those that came and those that come. */
  readonly wait: (is: (frame: Frame) => boolean, ms?: number) => Promise<Frame>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

export const openSocket = async (
  origin: string,
  options: {
    readonly protocols?: string[]
    readonly headers?: Readonly<Record<string, string>>
    readonly path?: string
    /** Called with each frame, which is not kept then. */
    readonly onFrame?: (frame: Frame) => void
  } = {},
): Promise<SocketClient> => {
  const url = `${origin.replace(/^http/, 'ws')}${options.path ?? '/v1/stream'}`
  const socket = new WebSocket(url, options.protocols ?? ['stemma.v1'], {
    headers: { ...options.headers },
    perMessageDeflate: false,
  })
  const frames: Frame[] = []
  const waiting = new Set<(frame: Frame) => void>()
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString('utf8')) as Frame
    if (options.onFrame) options.onFrame(frame)
    else frames.push(frame)
    for (const look of waiting) look(frame)
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('open', () => resolve())
  })
  return {
    socket,
    frames,
    closed,
    send: (frame) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    wait: (is, ms = 20_000) => {
      const there = frames.find(is)
      if (there) return Promise.resolve(there)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`no such frame within ${ms} ms`))
        }, ms)
        const look = (frame: Frame): void => {
          if (!is(frame)) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(frame)
        }
        waiting.add(look)
      })
    },
    [Symbol.dispose]: () => socket.terminate(),
  }
}
