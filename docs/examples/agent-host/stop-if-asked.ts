import type { Turn } from './shapes.ts'
import type { Store } from './store.ts'

/** A turn stops because somebody asked for it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** Throws Interrupted where the turn is to stop. Asked before each step, and while it waits. */
export const stopIfAsked = async (store: Store, { sessionId, turnId }: Turn): Promise<void> => {
  const { interrupt } = await store.turn(sessionId, turnId)
  if (interrupt) throw new Interrupted(interrupt.reason)
}
