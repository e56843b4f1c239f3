import type { Owner, Report, Turn, Work } from './shapes.ts'
import { Refused, type Store } from './store.ts'

export type Taken = { readonly turn: Turn; readonly report?: Report }

/** Claims a turn or starts one. Undefined: there is nothing for us to take, at least not now. */
export const takeTurn = async (
  store: Store,
  owner: Owner,
  work: Work,
): Promise<Taken | undefined> => {
  const { sessionId } = work
  try {
    if (work.kind === 'turn') {
      const { report, ...held } = await store.claim(sessionId, work.turnId, owner, work.fromFence)
      return { turn: { sessionId, ...held, written: 0 }, report }
    }
    const takes = await whatWaits(store, work)
    if (takes.inputs.length + takes.resumes.length === 0) return undefined
    const held = await store.start(sessionId, owner, takes)
    return { turn: { sessionId, ...held, written: 0 } }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    // An input was cancelled since we looked. The others were offered, and will not be again.
    if (error.code === 'input_delivered') return takeTurn(store, owner, work)
    // Our heartbeats did not come through for a while.
    if (error.code === 'owner_lapsed') {
      await store.heartbeat(owner)
      return takeTurn(store, owner, work)
    }
    if (isNotOurs.has(error.code)) return undefined
    throw error
  }
}

/** One turn takes up all prompts of the session: what is offered of it later finds nothing any more. */
const whatWaits = async (store: Store, work: Work) => {
  const waiting = await store.inputs(work.sessionId)
  const prompts = waiting.filter(({ kind }) => kind === 'prompt')
  return {
    // A start takes no more. When the turn has ended, the rest is offered again.
    inputs: prompts.slice(0, 256).map(({ messageId }) => messageId),
    resumes: work.kind === 'answer' ? [work.requestId] : [],
  }
}

/** If it becomes work again, it is offered again. */
const isNotOurs: ReadonlySet<string> = new Set([
  // Its owner is back.
  'owner_alive',
  // Another host was quicker.
  'fenced',
  'turn_active',
  'turn_settled',
  // Another turn has taken the answer up.
  'wrong_state',
  // Nobody's any more.
  'session_deleted',
])
