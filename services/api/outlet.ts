import { createLane } from '../lane.ts'

/** Above this the server stops reading for who does not read. */
const mostUnsent = 1024 * 1024
/** Pages that are held for one reader at once. */
const pagesAtOnce = 4

/** What takes a text, and calls back when that has been handed to the connection. */
export type Channel = { readonly send: (text: string, sent: () => void) => void }

/** The way out to one reader, a socket's or a stream's: knows what has not been sent yet. */
export type Outlet = Disposable & {
  /** Sends at once, whatever waits. */
  readonly send: (text: string) => void
  readonly unsent: number
  /** Whether there is room for what may be left out. */
  readonly hasRoom: () => boolean
  /** Runs work that writes a page, when there is room and it is its turn. */
  readonly turn: <T>(work: () => Promise<T>) => Promise<T>
}

/**
 * `onStalled`: the reader has taken nothing for `drainMs`, with a full outlet. `onDrained`: it has
 * taken something, and the outlet is not full.
 */
export const openOutlet = (
  channel: Channel,
  drainMs: number,
  onStalled: () => void,
  onDrained: () => void,
): Outlet => {
  const lane = createLane(pagesAtOnce)
  const waiting: (() => void)[] = []
  let unsent = 0
  let stalling: NodeJS.Timeout | undefined
  let closed = false

  const drained = (bytes: number): void => {
    unsent -= bytes
    stalling?.refresh()
    if (unsent >= mostUnsent) return
    clearTimeout(stalling)
    stalling = undefined
    onDrained()
    while (waiting.length > 0 && unsent < mostUnsent) waiting.shift()!()
  }

  return {
    get unsent() {
      return unsent
    },
    hasRoom: () => unsent < mostUnsent,
    send: (text) => {
      if (closed) return
      const bytes = Buffer.byteLength(text)
      unsent += bytes
      if (unsent >= mostUnsent) stalling ??= setTimeout(onStalled, drainMs)
      channel.send(text, () => drained(bytes))
    },
    turn: (work) =>
      lane(async () => {
        while (unsent >= mostUnsent && !closed) {
          await new Promise<void>((resolve) => waiting.push(resolve))
        }
        return work()
      }),
    [Symbol.dispose]: () => {
      closed = true
      clearTimeout(stalling)
      for (const resume of waiting.splice(0)) resume()
    },
  }
}
