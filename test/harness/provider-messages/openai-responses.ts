import type { ContextEntry } from '../../../schema/http/context.ts'
import { asTexts, contentTexts, isEmpty, isValid } from './as-text.ts'
import { isJson } from './openai-chat.ts'

export type ResponseItem =
  | {
      readonly type: 'message'
      readonly role: 'user' | 'assistant' | 'developer'
      readonly content: readonly { readonly type: string; readonly text: string }[]
    }
  | {
      readonly type: 'reasoning'
      readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[]
      readonly encrypted_content: string
    }
  | {
      readonly type: 'function_call'
      readonly call_id: string
      readonly name: string
      readonly arguments: string
    }
  | { readonly type: 'function_call_output'; readonly call_id: string; readonly output: string }

/** The context as `input` of OpenAI's Responses, mapped one to one. */
export const toResponses = (entries: readonly ContextEntry[]): ResponseItem[] =>
  entries.flatMap((entry): ResponseItem[] => {
    switch (entry.role) {
      case 'assistant':
        return entry.parts.flatMap((part): ResponseItem[] => {
          if (part.type === 'call') {
            const { callId, name, input } = part
            const text = JSON.stringify(input)
            return [{ type: 'function_call', call_id: callId, name, arguments: text }]
          }
          if (part.type !== 'reasoning') {
            const content = [{ type: 'output_text', text: part.text }]
            return [{ type: 'message', role: 'assistant', content }]
          }
          // Only what the provider has sealed is a thought to it.
          if (part.providerState === undefined) return []
          return [
            {
              type: 'reasoning',
              summary: isEmpty(part.text) ? [] : [{ type: 'summary_text', text: part.text }],
              encrypted_content: JSON.stringify(part.providerState),
            },
          ]
        })
      case 'tool':
        return [
          {
            type: 'function_call_output',
            call_id: entry.callId,
            output: contentTexts(entry.content).join('\n'),
          },
        ]
      default:
        return [
          {
            type: 'message',
            role: entry.role === 'system' ? 'developer' : 'user',
            content: asTexts(entry).map((text) => ({ type: 'input_text', text })),
          },
        ]
    }
  })

/**
 * Which rules of OpenAI's Responses a list breaks, one line each; after its API reference, its page
 * on reasoning models and the refusals that the API gives:
 * - a message has content, and no empty text; the assistant's is output_text, all else input_text;
 * - each function_call has one function_call_output later in the list, each output a call before it;
 * - a call_id has 1 to 64 characters and is not used twice; a name is 1 to 64 of A-Z a-z 0-9 _ -; the
 *   arguments are a text of JSON;
 * - a reasoning item has its sealed content, and what it led to follows: a message of the assistant
 *   or a call, behind at most other reasoning;
 * - the body is valid Unicode.
 */
export const brokenOfResponses = (items: readonly ResponseItem[]): string[] => {
  const broken: string[] = []
  if (!isValid(items)) broken.push('the body is no valid Unicode')
  const called = new Set<string>()
  const settled = new Set<string>()
  for (const [n, item] of items.entries()) {
    const say = (what: string): void => void broken.push(`item ${n}: ${what}`)
    switch (item.type) {
      case 'message':
        checkMessage(item, say)
        break
      case 'reasoning':
        if (isEmpty(item.encrypted_content)) say('a thought has no sealed content')
        if (!isLedTo(items.slice(n + 1).find(({ type }) => type !== 'reasoning'))) {
          say('nothing follows a thought')
        }
        break
      case 'function_call':
        if (called.has(item.call_id)) say(`the id ${item.call_id} is there twice`)
        called.add(item.call_id)
        if (item.call_id.length < 1 || item.call_id.length > 64) say(`no id: ${item.call_id}`)
        if (!/^[\w-]{1,64}$/.test(item.name)) say(`no name: ${item.name}`)
        if (!isJson(item.arguments)) say(`the arguments of ${item.call_id} are no JSON`)
        break
      case 'function_call_output':
        if (!called.has(item.call_id)) say(`a result of no call before it: ${item.call_id}`)
        if (settled.has(item.call_id)) say(`two results of ${item.call_id}`)
        settled.add(item.call_id)
        if (isEmpty(item.output)) say(`the result of ${item.call_id} is empty`)
    }
  }
  for (const id of called) if (!settled.has(id)) broken.push(`no result of ${id}`)
  return broken
}

const isLedTo = (item: ResponseItem | undefined): boolean =>
  item?.type === 'function_call' || (item?.type === 'message' && item.role === 'assistant')

const checkMessage = (
  { role, content }: Extract<ResponseItem, { type: 'message' }>,
  say: (what: string) => void,
): void => {
  if (content.length === 0) say('it has no content')
  for (const { type, text } of content) {
    if (isEmpty(text)) say('a text is empty')
    if (type !== (role === 'assistant' ? 'output_text' : 'input_text')) say(`no ${type} of ${role}`)
  }
}
