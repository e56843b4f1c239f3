import type { SubscribeTree } from '../../../schema/socket/client-frames.ts'
import { followTree, type TreeSink } from '../../streams/follow-tree.ts'
import type { RouteDeps } from '../deps.ts'
import type { Outlet } from '../outlet.ts'

/** Where a tree's subscription is: the root's seq, and the descendants' by session id. */
export type TreePlace = {
  readonly afterSeq: number
  readonly after: Readonly<Record<string, number>>
}

/** How many sessions are followed, within what the socket takes. Throws Refusal `too_many`. */
export type Room = { readonly take: () => void; readonly giveBack: () => void }

/**
 * Follows a session and its descendants for one subscription. The root's place in the socket's room
 * is taken already; each descendant takes one more.
 */
export const subscribeTree = async (
  deps: Pick<RouteDeps, 'pool' | 'log' | 'feeds' | 'live'>,
  tenant: number,
  frame: SubscribeTree,
  outlet: Outlet,
  room: Room,
  moved: (place: TreePlace) => void,
  signal: AbortSignal,
): Promise<void> => {
  const { sessionId: root, afterSeq = 0, log } = frame
  const name = JSON.stringify(frame.sub)
  const places = new Map(Object.entries(frame.after ?? {}))
  const detaching = new Map<string, () => void>()
  let rootSeq = afterSeq
  let taken = 0

  /** Asked for when the server stops, and made then. */
  const place: TreePlace = {
    get afterSeq() {
      return rootSeq
    },
    get after() {
      return Object.fromEntries(places)
    },
  }
  const move = (sessionId: string, seq: number): void => {
    if (sessionId !== root) places.set(sessionId, seq)
    else {
      // Of a root that is followed from now on nobody knows at first where that is.
      rootSeq = seq
      moved(place)
    }
  }
  const detach = (sessionId: string): void => {
    detaching.get(sessionId)?.()
    detaching.delete(sessionId)
  }
  const detachAll = (): void => {
    for (const sessionId of detaching.keys()) detach(sessionId)
  }
  signal.addEventListener('abort', detachAll)

  const sink: TreeSink = {
    turn: (work) => outlet.turn(work),
    event: (envelope, { sessionId, seq }) => {
      move(sessionId, seq)
      outlet.send(`{"sub":${name},"event":${envelope}}`)
    },
    caughtUp: (at) => {
      const { sessionId, seq } = at
      move(sessionId, seq)
      outlet.send(`{"sub":${name},"caughtUp":${JSON.stringify(at)}}`)
      if (frame.live === false || signal.aborted) return
      const attached = deps.live.attach({ tenant, sessionId }, seq, (live) => {
        if (!outlet.hasRoom()) return false
        outlet.send(
          `{"sub":${name},"live":${JSON.stringify(live)},"sessionId":${JSON.stringify(sessionId)}}`,
        )
        return true
      })
      detaching.set(sessionId, attached)
    },
    ended: (ended) => {
      move(ended.sessionId, ended.afterSeq)
      if (ended.sessionId === root) detachAll()
      else detach(ended.sessionId)
      outlet.send(`{"sub":${name},"ended":${JSON.stringify(ended)}}`)
    },
    reset: (reset) => {
      detachAll()
      outlet.send(`{"sub":${name},"reset":${JSON.stringify(reset)}}`)
    },
    joined: (sessionId) => {
      if (sessionId === root) return
      room.take()
      taken += 1
    },
    left: () => {
      room.giveBack()
      taken -= 1
    },
  }

  if (afterSeq >= 0) move(root, afterSeq)
  try {
    await followTree(
      deps,
      { tenant, sessionId: root },
      { afterSeq, after: new Map(places), ...(log !== undefined && { log }) },
      sink,
      signal,
    )
  } finally {
    detachAll()
    for (; taken > 0; taken -= 1) room.giveBack()
  }
}
