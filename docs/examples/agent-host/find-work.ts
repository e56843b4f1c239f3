import type { Store } from './store.ts'

/** What waits for an owner. */
export type Work =
  | {
      readonly kind: 'turn'
      readonly sessionId: string
      readonly turnId: string
      readonly fromFence: number
    }
  | { readonly kind: 'input'; readonly sessionId: string; readonly inputs: string[] }

/** The work of one session: a turn that somebody else began, or else the inputs that wait. */
export const findWork = async (store: Store, sessionId: string): Promise<Work | undefined> => {
  const { turn } = await store.session(sessionId)
  if (turn) return { kind: 'turn', sessionId, turnId: turn.turnId, fromFence: turn.fence }
  const waiting = await store.inputs(sessionId)
  const inputs = waiting.filter(({ kind }) => kind === 'prompt').map(({ messageId }) => messageId)
  return inputs.length > 0 ? { kind: 'input', sessionId, inputs } : undefined
}
