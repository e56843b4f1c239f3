import type { Owner, Registration } from './shapes.ts'
import type { Store } from './store.ts'

/**
 * Sends heartbeats, three in each lease; one covers all turns of the owner. One that fails is only told:
 * if the lease lapses and nobody makes use of it, the next heartbeat brings it back.
 */
export const keepAlive = (
  store: Store,
  owner: Owner,
  { lifetime, ttlMs = 30_000 }: Registration,
  say: (text: string) => void,
): Disposable => {
  if (lifetime === 'process') return { [Symbol.dispose]: () => {} }
  const beat = (): void => {
    store.heartbeat(owner).catch((error: unknown) => say(`no heartbeat: ${String(error)}`))
  }
  const timer = setInterval(beat, ttlMs / 3)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
