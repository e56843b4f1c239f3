import { question, requestOf, runCall, type Call } from './run-call.ts'
import { askModel, type Said } from './scripted-model.ts'
import type { NewEvent, Turn } from './shapes.ts'
import { stopIfAsked } from './stop-if-asked.ts'
import type { Store } from './store.ts'
import type { Tools } from './tools.ts'

export type Means = { readonly store: Store; readonly tools: Tools }

/** Steps, one after another, until the model asks for nothing more. That ends the turn. */
export const runSteps = async (means: Means, turn: Turn): Promise<void> => {
  const { sessionId, turnId, fence } = turn
  for (let step = 1; ; step += 1) {
    await stopIfAsked(means.store, turn)
    // Never a name that an owner before us has used.
    const messageId = `${turnId}.${fence}.step${step}`
    const context = await means.store.context(sessionId)
    await means.store.append(turn, {
      type: 'step.started',
      data: { messageId, attempt: 1, agent: 'example', model },
    })
    const said = await askModel(context)
    const calls = toCalls(means.tools, turn, messageId, said)
    const text = { type: 'text.ended', data: { messageId, partId: 'text', text: said.text } }
    if (calls.length === 0) {
      // In one append: nobody finds the last step ended and the turn not.
      const ended = { turnId, outcome: 'completed', fence }
      const end = { type: 'turn.ended', data: ended }
      await means.store.append(turn, text, stepEnded(messageId, 'stop'), end)
      return
    }
    // In one append as well: the calls of a step are all recorded, or none is.
    await means.store.append(turn, text, ...calls.flatMap((call) => recorded(means.tools, call)), {
      type: 'step.streamed',
      data: { messageId, finish: 'tool-calls' },
    })
    await finishStep(means, turn, messageId, calls, 'tool-calls')
  }
}

/** Runs the calls that have not settled, and ends the step. */
export const finishStep = async (
  means: Means,
  turn: Turn,
  messageId: string,
  calls: readonly Call[],
  finish: string,
): Promise<void> => {
  for (const call of calls) await runCall(means, turn, call)
  await means.store.append(turn, stepEnded(messageId, finish))
}

const toCalls = (tools: Tools, { sessionId }: Turn, messageId: string, { calls }: Said): Call[] =>
  calls.map(({ name, input }, n) => {
    const effectKey = tools[name]?.effectKey?.(sessionId, input)
    return {
      messageId,
      callId: `${messageId}.call${n + 1}`,
      name,
      input,
      ...(effectKey !== undefined && { effectKey }),
    }
  })

/** A call as it goes into the log before anything is done; a question is asked with it. */
const recorded = (tools: Tools, call: Call): NewEvent[] => {
  const { messageId, callId, name, input } = call
  const effect = tools[name]?.effect ?? 'read'
  const called = { type: 'tool.called', data: { ...call, effect, executedBy: 'host' } }
  if (name !== question) return [called]
  const options = (input['options'] ?? '').split(',').map((label) => ({ label }))
  const questions = [{ question: input['question'] ?? '', options, custom: true }]
  const asked = { requestId: requestOf(callId), kind: 'question', messageId, callId, questions }
  return [called, { type: 'request.opened', data: asked }]
}

const stepEnded = (messageId: string, finish: string): NewEvent => ({
  type: 'step.ended',
  data: { messageId, finish, cost: 0, tokens },
})

const model = { modelId: 'scripted', providerId: 'example' }
const tokens = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
