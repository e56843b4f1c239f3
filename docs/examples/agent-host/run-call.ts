import { setTimeout as sleep } from 'node:timers/promises'
import type { Content, Turn } from './shapes.ts'
import { stopIfAsked } from './stop-if-asked.ts'
import type { Store } from './store.ts'
import type { Tools } from './tools.ts'

/** A call that is recorded (`tool.called`) and has not settled. */
export type Call = {
  readonly messageId: string
  readonly callId: string
  readonly name: string
  readonly input: Record<string, string>
  readonly effectKey?: string
}

/** The one call that the host does not run: a person answers it. */
export const question = 'ask_user'

/** The request of a call has a name that whoever takes the turn over finds without having heard it. */
export const requestOf = (callId: string): string => `${callId}.asked`

/**
 * Dispatched, then done, then settled, each an append of its own: whoever takes the turn over knows by
 * the log alone that what was not dispatched has not happened, and that the rest may have.
 */
export const runCall = async (
  { store, tools }: { readonly store: Store; readonly tools: Tools },
  turn: Turn,
  call: Call,
): Promise<void> => {
  const { messageId, callId, name, input, effectKey } = call
  const settle = (outcome: string, text: string) =>
    store.append(turn, {
      type: 'tool.settled',
      data: { messageId, callId, outcome, content: [{ type: 'text', text }] satisfies Content },
    })
  if (name === question) {
    const answer = await answerOf(store, turn, call)
    await settle(
      answer === undefined ? 'cancelled' : 'ok',
      answer ?? 'the question was not answered',
    )
    return
  }
  const tool = tools[name]
  if (!tool) {
    await settle('error', `there is no tool ${name}`)
    return
  }
  await store.append(turn, { type: 'tool.dispatched', data: { messageId, callId } })
  const done = await tool.run(input, effectKey).then(
    (text) => ({ outcome: 'ok', text }),
    // A tool that failed half-way may have had its effect: only where that does no harm is it an error.
    (error: unknown) => ({
      outcome: tool.effect === 'once' ? 'unknown' : 'error',
      text: String(error),
    }),
  )
  await settle(done.outcome, done.text)
}

/**
 * Waits for the answer to a call's request; undefined if it was closed without one. It is looked for in
 * the log from the call's message on: it may have come while nobody ran the turn.
 */
const answerOf = async (
  store: Store,
  turn: Turn,
  { messageId, callId }: Call,
): Promise<string | undefined> => {
  let { seq } = await store.message(turn.sessionId, messageId)
  for (;;) {
    const events = await store.events(turn.sessionId, seq)
    for (const { type, data } of events) {
      if (data['requestId'] !== requestOf(callId)) continue
      if (type === 'request.answered') return textOf(data['answers'] as (string[] | null)[])
      if (type === 'request.closed') return undefined
    }
    seq = events.at(-1)?.seq ?? seq
    if (events.length > 0) continue
    await stopIfAsked(store, turn)
    await sleep(200)
  }
}

const textOf = (answers: (string[] | null)[]): string =>
  answers.map((answer) => answer?.join(' and ') ?? 'skipped').join(', ')
