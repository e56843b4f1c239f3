import type { RawData, WebSocket } from 'ws'
import { Refusal } from '../../../schema/errors.ts'
import type { Append, Speak } from '../../../schema/socket/client-frames.ts'
import { appendEvents } from '../append-events.ts'
import type { RouteDeps } from '../deps.ts'
import { receiptFor } from '../plugins/idempotency.ts'
import type { Principal, Scope } from '../plugins/principal.ts'
import { problemOf } from '../plugins/problem-of.ts'
import { openOutlet } from '../outlet.ts'
import { readFrame, type ClientFrame, type FrameNames } from './read-frame.ts'
import { openSubscriptions } from './subscriptions.ts'

/** Frames that were taken and not answered; above it nothing more is read from the socket. */
const mostTaken = 1_000
/** Answers that the client does not take; above it nothing more is read from the socket. */
const mostUnread = 4 * 1024 * 1024
/** A client that neither answers nor sends for so many heartbeats is gone. */
const silentBeats = 3
/** A client that does not close in time is cut off. */
const closeMs = 2_000

export const closeCodes = {
  goingAway: 1001,
  wrongData: 1003,
  forbidden: 1008,
  notDrained: 4408,
} as const

/**
 * Serves one socket until it closes. Frames are answered in whatever order they are done; appends to
 * one session are stored in the order in which they came.
 */
export const serveSocket = (
  deps: RouteDeps,
  socket: WebSocket,
  principal: Principal,
  isAllowed: () => Promise<boolean>,
): void => {
  const { tenant, scopes } = principal
  const outlet = openOutlet(
    { send: (text, sent) => socket.send(text, sent) },
    deps.settings.drainTimeoutMs,
    () => close(closeCodes.notDrained, 'not drained'),
    () => hold(),
  )
  deps.outlets.add(outlet)
  /** Appends and live frames that were taken and not answered. */
  let taken = 0
  let closing = false
  let heardAt = Date.now()
  let fencedSaid = ''

  const close = (code: number, reason: string): void => {
    closing = true
    socket.close(code, reason)
    setTimeout(() => socket.terminate(), closeMs).unref()
  }

  const say = (message: unknown): void => outlet.send(JSON.stringify(message))

  const refuse = (names: FrameNames & { readonly sessionId?: string }, error: unknown): void => {
    const { problem, internal } = problemOf(error, names.ref !== undefined)
    if (internal) deps.report(new Error('a frame of a socket failed', { cause: error }))
    say({ ...names, error: problem })
  }

  const subscriptions = openSubscriptions(deps, tenant, outlet, (sub, error) =>
    refuse({ sub }, error),
  )

  const append = (frame: Append): void => {
    const { op: _op, ref, sessionId, idempotencyKey, ...body } = frame
    const receipt =
      idempotencyKey === undefined
        ? {}
        : receiptFor(idempotencyKey, 'POST /v1/sessions/:sessionId/events', { sessionId }, body)
    // Handed over before the next frame is read: this is what keeps the order.
    const appended = appendEvents(deps, { tenant, sessionId }, body, receipt)
    taken += 1
    appended
      .then(
        ({ data }) => say({ ref, ok: data }),
        (error: unknown) => refuse({ ref }, error),
      )
      .finally(() => {
        taken -= 1
        hold()
      })
  }

  const speak = (frame: Speak): void => {
    const { op: _op, sessionId, ...part } = frame
    const { messageId, partId } = part
    taken += 1
    const done = (): void => {
      taken -= 1
      hold()
    }
    deps.live
      .receive({ tenant, sessionId }, part)
      .finally(done)
      .then(
        ({ gap }) => {
          if (gap) say({ live: { resync: true, messageId, partId }, sessionId })
        },
        (error: unknown) => {
          // A fenced owner streams on for a while: it is told once.
          const about = `${sessionId} ${part.fence} ${error instanceof Refusal ? error.code : ''}`
          if (fencedSaid !== about) refuse({ sessionId }, error)
          fencedSaid = about
        },
      )
  }

  /** Who sends faster than the log takes it, or does not take the answers, waits. */
  const hold = (): void => {
    const full = taken >= mostTaken || outlet.unsent >= mostUnread
    if (full && !socket.isPaused) socket.pause()
    else if (!full && socket.isPaused) socket.resume()
  }

  const need = (scope: Scope): void => {
    if (!scopes.has(scope)) throw new Refusal('forbidden', `this takes the scope ${scope}`)
  }

  const take = (frame: ClientFrame): void => {
    switch (frame.op) {
      case 'subscribe':
        need('read')
        return subscriptions.add(frame)
      case 'unsubscribe':
        return subscriptions.remove(frame.sub)
      case 'append':
        need('append')
        return append(frame)
      case 'live':
        need('append')
        return speak(frame)
      case 'ping':
        return say({ pong: true })
    }
    return frame satisfies never
  }

  socket.on('message', (data: RawData, isBinary: boolean) => {
    heardAt = Date.now()
    // Who is being sent away is not listened to.
    if (closing) return
    if (isBinary) return close(closeCodes.wrongData, 'frames are text')
    let names: FrameNames = {}
    try {
      const read = readFrame((data as Buffer).toString('utf8'))
      ;({ names } = read)
      if ('refusal' in read) throw read.refusal
      take(read.frame)
    } catch (error) {
      refuse(names, error)
    }
    hold()
  })
  socket.on('pong', () => (heardAt = Date.now()))
  socket.on('error', () => socket.terminate())

  const forbid = (): void => {
    for (const { sub, ...place } of subscriptions.places()) {
      say({ sub, ended: { reason: 'forbidden', ...place } })
    }
    subscriptions[Symbol.dispose]()
    close(closeCodes.forbidden, 'the token is not valid any more')
  }

  const heartbeat = setInterval(() => {
    void isAllowed().then((allowed) => allowed || forbid())
    hold()
    // A socket that we hold cannot say anything.
    if (socket.isPaused) heardAt = Date.now()
    if (Date.now() - heardAt > silentBeats * deps.settings.heartbeatMs) socket.terminate()
    else socket.ping()
  }, deps.settings.heartbeatMs)

  const leave = (): void => {
    const subs = subscriptions.places()
    subscriptions[Symbol.dispose]()
    say({ goingAway: { subs } })
    close(closeCodes.goingAway, 'the server stops')
  }

  socket.on('close', () => {
    clearInterval(heartbeat)
    deps.stopping.removeEventListener('abort', leave)
    subscriptions[Symbol.dispose]()
    outlet[Symbol.dispose]()
    deps.outlets.delete(outlet)
  })
  // The server may have begun to stop while it was found out who asks.
  if (deps.stopping.aborted) leave()
  else deps.stopping.addEventListener('abort', leave)
}
