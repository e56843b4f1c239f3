import type { Bus, Ring } from './bus.ts'

type Listener = (rings: readonly Ring[]) => void

/** A place where servers of one process meet. */
export type Hall = { readonly join: () => Bus }

export const openHall = (): Hall => {
  const members = new Set<Set<Listener>>()
  const join = (): Bus => {
    const listeners = new Set<Listener>()
    members.add(listeners)
    return {
      ring: (ring) => {
        // Never inside the caller's own work.
        setImmediate(() => {
          if (!members.has(listeners)) return
          for (const others of members) {
            if (others !== listeners) for (const listener of others) listener([ring])
          }
        })
      },
      onRing: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      connected: true,
      ready: Promise.resolve(),
      [Symbol.asyncDispose]: async () => {
        members.delete(listeners)
      },
    }
  }
  return { join }
}
