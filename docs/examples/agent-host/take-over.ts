import type { Call } from './run-call.ts'
import { finishStep, type Means } from './run-turn.ts'
import type { Message, Part, Report, Turn } from './shapes.ts'
import { Interrupted } from './stop-if-asked.ts'
import type { Store } from './store.ts'

/**
 * Finishes what the owner before us left, so that the turn goes on like one of our own. The store has
 * closed already what nobody can finish; the report says what is left.
 */
export const takeOver = async (
  means: Means,
  turn: Turn,
  { step, interrupted }: Report,
): Promise<void> => {
  await resolveUnknown(means, turn)
  if (interrupted) throw new Interrupted('asked of the owner before')
  if (step?.now !== 'open') return
  const message = await means.store.message(turn.sessionId, step.messageId)
  await finishStep(means, turn, step.messageId, openCalls(message), step.finish ?? 'tool-calls')
}

/**
 * What was never dispatched, what may be dispatched again, and what waits for an answer: in the
 * transcript they have not settled. An `unknown` has, and is not run again.
 */
const openCalls = ({ messageId, parts = [] }: Message): Call[] =>
  parts
    .filter(({ type, status }) => type === 'tool' && status !== 'settled')
    .map(({ partId, name = '', input = {}, effectKey }) => ({
      messageId,
      callId: partId,
      name,
      input,
      ...(effectKey !== undefined && { effectKey }),
    }))

/**
 * Looks outside for what unknown calls of this turn did. All of them, and not those of the report alone:
 * an owner between may have claimed the turn and died before it looked. Nothing there proves nothing, for
 * the owner before us may only be slow: then the call stays unknown, and the model is told so.
 */
const resolveUnknown = async ({ store, tools }: Means, turn: Turn): Promise<void> => {
  for (const { messageId, part } of await unknownCalls(store, turn)) {
    const { partId: callId, name = '', effectKey } = part
    const evidence = effectKey === undefined ? undefined : await tools[name]?.look?.(effectKey)
    if (evidence === undefined) continue
    const content = [{ type: 'text', text: `it was done: ${evidence}` }]
    await store.append(turn, {
      type: 'tool.resolved',
      data: { messageId, callId, outcome: 'ok', content, evidence },
    })
  }
}

const unknownCalls = async (store: Store, { sessionId, turnId }: Turn) => {
  const found: { messageId: string; part: Part }[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.messages(sessionId, cursor)
    for (const message of page.data) {
      const { messageId, type, parts = [] } = message
      if (type === 'assistant' && message.turnId !== turnId) return found
      for (const part of parts) {
        if (part.outcome === 'unknown' && !part.resolved) found.push({ messageId, part })
      }
    }
    cursor = page.cursor.next
  }
  return found
}
