import type { ContextEntry } from '../../../schema/http/context.ts'
import { asTexts, contentTexts, isEmpty, isValid } from './as-text.ts'

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly ChatText[] }
  | {
      readonly role: 'assistant'
      readonly content?: readonly ChatText[]
      readonly tool_calls?: readonly ChatCall[]
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

type ChatText = { readonly type: 'text'; readonly text: string }
type ChatCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The context as `messages` of OpenAI's Chat Completions, mapped one to one. */
export const toChat = (entries: readonly ContextEntry[]): ChatMessage[] =>
  entries.map((entry): ChatMessage => {
    switch (entry.role) {
      case 'assistant': {
        const texts = entry.parts.flatMap((part) =>
          part.type === 'text' || part.type === 'excluded'
            ? [{ type: 'text' as const, text: part.text }]
            : [],
        )
        const calls = entry.parts.flatMap((part): ChatCall[] => {
          if (part.type !== 'call') return []
          const { callId, name, input } = part
          return [
            { id: callId, type: 'function', function: { name, arguments: JSON.stringify(input) } },
          ]
        })
        return {
          role: 'assistant',
          ...(texts.length > 0 && { content: texts }),
          ...(calls.length > 0 && { tool_calls: calls }),
        }
      }
      case 'tool':
        return {
          role: 'tool',
          tool_call_id: entry.callId,
          content: contentTexts(entry.content).join('\n'),
        }
      case 'system':
        return { role: 'system', content: entry.text }
      default:
        return { role: 'user', content: asTexts(entry).map((text) => ({ type: 'text', text })) }
    }
  })

/**
 * Which rules of OpenAI's Chat Completions a list breaks, one line each; after its API reference and
 * the refusals that the API, and those that copy it, give:
 * - an assistant message has content or tool_calls, neither of them empty; a user message has
 *   content; a text is not empty;
 * - a message with tool_calls is followed at once by one tool message for each id, before any other;
 *   a tool message answers a call of the assistant message before it;
 * - a call's id has 1 to 40 characters and is not used twice; a function's name is 1 to 64 of
 *   A-Z a-z 0-9 _ -; its arguments are a text of JSON;
 * - the body is valid Unicode.
 */
export const brokenOfChat = (messages: readonly ChatMessage[]): string[] => {
  const broken: string[] = []
  if (!isValid(messages)) broken.push('the body is no valid Unicode')
  const ids = new Set<string>()
  let open = new Set<string>()
  let answered = new Set<string>()
  for (const [n, message] of messages.entries()) {
    const say = (what: string): void => void broken.push(`message ${n}: ${what}`)
    if (message.role === 'tool') {
      const id = message.tool_call_id
      if (open.delete(id)) answered.add(id)
      else say(answered.has(id) ? `two results of ${id}` : `a result of no call before it: ${id}`)
      if (isEmpty(message.content)) say(`the result of ${id} is empty`)
      continue
    }
    for (const id of open) say(`no result of ${id} directly after it`)
    open = new Set()
    answered = new Set()
    if (message.role === 'assistant') {
      checkAssistant(message, say)
      for (const call of message.tool_calls ?? []) {
        if (ids.has(call.id)) say(`the id ${call.id} is there twice`)
        ids.add(call.id)
        open.add(call.id)
      }
    } else if (message.role === 'system' ? isEmpty(message.content) : !hasTexts(message.content)) {
      say('it has no content, or an empty text')
    }
  }
  for (const id of open) broken.push(`no result of ${id} at the end`)
  return broken
}

const checkAssistant = (
  { content, tool_calls: calls }: Extract<ChatMessage, { role: 'assistant' }>,
  say: (what: string) => void,
): void => {
  if (content === undefined && calls === undefined) say('it has neither content nor calls')
  if (content && !hasTexts(content)) say('it has no content, or an empty text')
  if (calls?.length === 0) say('its tool_calls are empty')
  for (const call of calls ?? []) {
    if (call.id.length < 1 || call.id.length > 40) say(`no id: ${call.id}`)
    if (!/^[\w-]{1,64}$/.test(call.function.name)) say(`no name: ${call.function.name}`)
    if (!isJson(call.function.arguments)) say(`the arguments of ${call.id} are no JSON`)
  }
}

const hasTexts = (content: readonly ChatText[]): boolean =>
  content.length > 0 && content.every(({ text }) => !isEmpty(text))

export const isJson = (text: unknown): boolean => {
  if (typeof text !== 'string') return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
