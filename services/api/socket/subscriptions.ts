import { Refusal } from '../../../schema/errors.ts'
import type {
  SubscribeAll,
  SubscribeSession,
  SubscribeTree,
} from '../../../schema/socket/client-frames.ts'
import { followAll } from '../../streams/follow-all.ts'
import { followSession } from '../../streams/follow-session.ts'
import type { Sink } from '../../streams/sink.ts'
import { allCursors, typesFilter } from '../all-cursor.ts'
import type { RouteDeps } from '../deps.ts'
import { incarnationOf } from '../incarnation.ts'
import type { Outlet } from '../outlet.ts'
import { subscribeTree, type TreePlace } from './subscribe-tree.ts'

/** Where a subscription is, as its client would come back to it. */
export type Place = { readonly afterSeq: number } | TreePlace | { readonly cursor: string }

export type Subscriptions = Disposable & {
  readonly add: (frame: SubscribeSession | SubscribeTree | SubscribeAll) => void
  readonly remove: (sub: string) => void
  readonly places: () => readonly ({ readonly sub: string } & Place)[]
}

type Subscription = { readonly stop: AbortController; place: Place | undefined }

/** The subscriptions of one socket. Throws Refusals for what is wrong with a frame. */
export const openSubscriptions = (
  deps: Pick<RouteDeps, 'pool' | 'log' | 'feeds' | 'live' | 'settings'>,
  tenant: number,
  outlet: Outlet,
  refuse: (sub: string, error: unknown) => void,
): Subscriptions => {
  const subscriptions = new Map<string, Subscription>()
  /** Sessions, or all. Those that were ended count until they have let go of what they were doing. */
  let following = 0

  const room = {
    take: (): void => {
      if (following >= deps.settings.maxSubscriptions) {
        throw new Refusal(
          'too_many',
          `a socket takes ${deps.settings.maxSubscriptions} subscriptions`,
        )
      }
      following += 1
    },
    giveBack: (): void => {
      following -= 1
    },
  }

  const add = (frame: SubscribeSession | SubscribeTree | SubscribeAll): void => {
    const { sub } = frame
    if (subscriptions.has(sub)) {
      throw new Refusal('duplicate_id', `there is a subscription ${sub} on this socket`)
    }
    room.take()
    const subscription: Subscription = { stop: new AbortController(), place: undefined }
    subscriptions.set(sub, subscription)
    const done = (): void => {
      room.giveBack()
      subscription.stop.abort()
      if (subscriptions.get(sub) === subscription) subscriptions.delete(sub)
    }
    begin(frame, subscription)
      .catch((error: unknown) => {
        if (!subscription.stop.signal.aborted) refuse(sub, error)
      })
      .finally(done)
  }

  const begin = (
    frame: SubscribeSession | SubscribeTree | SubscribeAll,
    subscription: Subscription,
  ): Promise<void> => {
    if ('all' in frame) return all(frame, subscription)
    if (frame.tree !== true) return session(frame, subscription, tenant)
    const { signal } = subscription.stop
    const moved = (place: TreePlace): void => void (subscription.place = place)
    return subscribeTree(deps, tenant, frame, outlet, room, moved, signal)
  }

  const session = async (
    frame: SubscribeSession,
    subscription: Subscription,
    of: number,
  ): Promise<void> => {
    const { sessionId, afterSeq = 0, log } = frame
    const target = { tenant: of, sessionId }
    const name = JSON.stringify(frame.sub)
    const { signal } = subscription.stop
    if (afterSeq >= 0) subscription.place = { afterSeq }
    const sink: Sink = {
      ...sinkOf(name, outlet),
      event: (envelope, { seq }) => {
        subscription.place = { afterSeq: seq }
        outlet.send(`{"sub":${name},"event":${envelope}}`)
      },
      caughtUp: (at) => {
        if ('seq' in at) subscription.place = { afterSeq: at.seq }
        outlet.send(`{"sub":${name},"caughtUp":${JSON.stringify(at)}}`)
        if (frame.live === false || signal.aborted) return
        const detach = deps.live.attach(target, 'seq' in at ? at.seq : 0, (live) => {
          if (!outlet.hasRoom()) return false
          outlet.send(`{"sub":${name},"live":${JSON.stringify(live)}}`)
          return true
        })
        signal.addEventListener('abort', detach)
      },
    }
    await followSession(
      deps.feeds,
      target,
      { afterSeq, ...(log !== undefined && { log }) },
      sink,
      signal,
    )
  }

  const all = async (frame: SubscribeAll, subscription: Subscription): Promise<void> => {
    const types = frame.types && typesFilter(frame.types)
    const cursors = allCursors(tenant, types)
    const log = await incarnationOf(deps.pool)
    const name = JSON.stringify(frame.sub)
    const sink: Sink = {
      ...sinkOf(name, outlet),
      event: (envelope, { cursor }) => {
        subscription.place = { cursor: cursor! }
        outlet.send(`{"sub":${name},"event":${envelope},"cursor":"${cursor}"}`)
      },
      caughtUp: (at) => {
        if ('cursor' in at) subscription.place = { cursor: at.cursor }
        outlet.send(`{"sub":${name},"caughtUp":${JSON.stringify(at)}}`)
      },
    }
    const from = frame.after === undefined ? { log, position: 0 } : cursors.decode(frame.after)
    if (frame.after !== undefined) subscription.place = { cursor: frame.after }
    if (from.log !== log) return sink.reset({ reason: 'other_log', oldestSeq: 1 })
    const cursorOf = (position: number): string => cursors.encode(log, position)
    await followAll(
      deps,
      { tenant, afterPosition: from.position, log, cursorOf, ...(types && { types }) },
      sink,
      subscription.stop.signal,
    )
  }

  const remove = (sub: string): void => {
    const subscription = subscriptions.get(sub)
    if (!subscription) throw new Refusal('wrong_state', `there is no subscription ${sub}`)
    subscription.stop.abort()
    subscriptions.delete(sub)
  }

  return {
    add,
    remove,
    places: () =>
      [...subscriptions].flatMap(([sub, { place }]) => (place ? [{ sub, ...place }] : [])),
    [Symbol.dispose]: () => {
      for (const { stop } of subscriptions.values()) stop.abort()
      subscriptions.clear()
    },
  }
}

/** What all subscriptions do alike. */
const sinkOf = (name: string, outlet: Outlet): Pick<Sink, 'turn' | 'reset' | 'ended'> => ({
  turn: (work) => outlet.turn(work),
  reset: (reset) => outlet.send(`{"sub":${name},"reset":${JSON.stringify(reset)}}`),
  ended: (ended) => outlet.send(`{"sub":${name},"ended":${JSON.stringify(ended)}}`),
})
