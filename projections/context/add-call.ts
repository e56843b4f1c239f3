import type { Changed, ContextEntry, ContextPart, LeftOut } from '../../schema/http/context.ts'
import type { MessagePart } from '../transcript/to-message.ts'
import { toolName, uniqueCallId } from './call-names.ts'
import type { Collected } from './collected.ts'
import { isBlank } from './is-blank.ts'
import { excludedContent, resultContent, waitingContent } from './result-content.ts'

type Message = { readonly collected: Collected } & {
  readonly parts: ContextPart[]
  readonly results: ContextEntry[]
}

/** A call and its result, or neither. */
export const addCall = (
  messageId: string,
  part: MessagePart,
  { collected, parts, results }: Message,
): void => {
  const { partId, name, executedBy, excluded, providerState, requestId } = part
  const reason = notThere(part, collected.waiting)
  if (reason || name === undefined) {
    collected.leftOut.push({ messageId, partId, reason: reason ?? 'not-called' })
    return
  }
  const change = (what: Changed['what'], from?: string, to?: string): void =>
    void collected.changed.push({
      messageId,
      partId,
      what,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    })
  const call = {
    partId,
    callId: uniqueCallId(collected.names, partId),
    name: toolName(name),
    ...(executedBy === 'provider' && { executedBy }),
    ...(excluded !== undefined && { excluded }),
  }
  if (call.callId !== partId) change('callId', partId, call.callId)
  if (call.name !== name) change('name', name, call.name)
  if (excluded !== undefined) collected.leftOut.push({ messageId, partId, reason: 'excluded' })
  else if (!isObject(part.input)) change('input')
  parts.push({
    type: 'call',
    ...call,
    input: excluded === undefined ? objectOf(part.input) : {},
    ...(providerState !== undefined && { providerState }),
  })
  const isWaiting = part.status !== 'settled'
  results.push({
    role: 'tool',
    messageId,
    ...call,
    ...(isWaiting
      ? { outcome: 'waiting', content: waitingContent(), placeholder: true }
      : outcomeOf(part, collected)),
    ...(requestId !== undefined && { requestId }),
  })
}

type Outcome = Pick<
  Extract<ContextEntry, { role: 'tool' }>,
  'outcome' | 'content' | 'error' | 'placeholder'
>

/** What was found out later stands in the place of `unknown`. */
const outcomeOf = (part: MessagePart, { answers }: Collected): Outcome => {
  const outcome = (part.resolved?.outcome ?? part.outcome ?? 'unknown') as Outcome['outcome']
  if (part.excluded !== undefined) {
    return { outcome, content: excludedContent(part.excluded), placeholder: true }
  }
  const answer = part.requestId === undefined ? undefined : answers.get(part.requestId)
  return {
    outcome,
    content: resultContent(part, outcome, answer),
    ...(part.error && !part.resolved && { error: part.error }),
  }
}

const notThere = (part: MessagePart, waiting: boolean): LeftOut['reason'] | undefined => {
  const isThere = part.status === 'settled' || (part.status === 'waiting' && waiting)
  if (!isThere) return 'unsettled'
  // Its input never became whole: it was closed as cancelled, and no model has made it.
  if (part.name === undefined || !('input' in part)) return 'not-called'
  return isBlank(part.name) ? 'nameless' : undefined
}

const isObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

/** Providers take objects alone; some models write something else, and imports know of no input. */
const objectOf = (input: unknown): Record<string, unknown> => {
  if (isObject(input)) return input
  return input === null || input === undefined ? {} : { input }
}
