import type { ContextEntry } from '../../../schema/http/context.ts'
import { asTexts, contentTexts, isEmpty, isValid } from './as-text.ts'

export type AnthropicBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: unknown
    }
  | {
      readonly type: 'tool_result'
      readonly tool_use_id: string
      readonly is_error?: boolean
      readonly content: readonly AnthropicBlock[]
    }

export type AnthropicMessage = {
  readonly role: 'user' | 'assistant'
  readonly content: readonly AnthropicBlock[]
}

/** The context as `messages` of Anthropic's Messages, mapped one to one. */
export const toAnthropic = (entries: readonly ContextEntry[]): AnthropicMessage[] =>
  entries.map((entry): AnthropicMessage => {
    switch (entry.role) {
      case 'assistant':
        return {
          role: 'assistant',
          content: entry.parts.flatMap((part): AnthropicBlock[] => {
            if (part.type === 'call') {
              return [{ type: 'tool_use', id: part.callId, name: part.name, input: part.input }]
            }
            if (part.type !== 'reasoning') return [{ type: 'text', text: part.text }]
            // Only what the provider has signed is a thought to it.
            if (part.providerState === undefined) return []
            const signature = JSON.stringify(part.providerState)
            return [{ type: 'thinking', thinking: part.text, signature }]
          }),
        }
      case 'tool':
        return {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: entry.callId,
              is_error: entry.outcome !== 'ok',
              content: contentTexts(entry.content).map((text) => ({ type: 'text', text })),
            },
          ],
        }
      default:
        return { role: 'user', content: asTexts(entry).map((text) => ({ type: 'text', text })) }
    }
  })

/**
 * Which rules of Anthropic's Messages a list breaks, one line each; after the API reference, its
 * pages on tool use and extended thinking, and the refusals that the API gives:
 * - the list begins with a user message; neighbours of one role count as one message;
 * - a message has content; a text is not empty and not only blanks, also within a result;
 * - ids of tool_use are unique over the list, 1 or more of A-Z a-z 0-9 _ -; their input is an object;
 *   their names are 1 to 128 of the same characters;
 * - each tool_use has one tool_result in the message that follows at once, where results come first;
 *   a tool_result names a tool_use of the message before; one that is an error has content;
 * - a thinking block has a signature and is not the last block of its message;
 * - the body is valid Unicode.
 */
export const brokenOfAnthropic = (given: readonly AnthropicMessage[]): string[] => {
  const broken: string[] = []
  const messages = joinNeighbours(given)
  if (messages[0] && messages[0].role !== 'user') broken.push('the first message is not the user’s')
  for (const [n, message] of given.entries()) {
    if (message.content.length === 0) broken.push(`message ${n} has no content`)
  }
  if (!isValid(given)) broken.push('the body is no valid Unicode')
  const ids = new Set<string>()
  for (const [n, message] of messages.entries()) {
    const say = (what: string): void => void broken.push(`message ${n}: ${what}`)
    if (message.role === 'user') {
      checkResults(message, messages[n - 1], say)
      continue
    }
    if (message.content.at(-1)?.type === 'thinking') say('it ends with a thought')
    for (const block of message.content) checkBlock(block, ids, say)
    const uses = message.content.filter(({ type }) => type === 'tool_use')
    if (uses.length > 0 && messages[n + 1] === undefined) say('nothing follows its calls')
  }
  return broken
}

type Say = (what: string) => void

const checkBlock = (block: AnthropicBlock, ids: Set<string>, say: Say): void => {
  switch (block.type) {
    case 'text':
      if (isEmpty(block.text)) say('a text is empty')
      return
    case 'thinking':
      if (isEmpty(block.signature)) say('a thought has no signature')
      return
    case 'tool_result':
      return say('an assistant gives no results')
    case 'tool_use':
      if (ids.has(block.id)) say(`the id ${block.id} is there twice`)
      ids.add(block.id)
      if (!/^[\w-]+$/.test(block.id)) say(`no id: ${block.id}`)
      if (!/^[\w-]{1,128}$/.test(block.name)) say(`no name: ${block.name}`)
      if (typeof block.input !== 'object' || block.input === null || Array.isArray(block.input)) {
        say(`the input of ${block.id} is no object`)
      }
  }
}

const checkResults = (
  message: AnthropicMessage,
  before: AnthropicMessage | undefined,
  say: Say,
): void => {
  const open = new Map<string, number>(
    (before?.role === 'assistant' ? before.content : []).flatMap((block) =>
      block.type === 'tool_use' ? [[block.id, 0] as const] : [],
    ),
  )
  let isPast = false
  for (const block of message.content) {
    if (block.type === 'text') {
      isPast = true
      if (isEmpty(block.text)) say('a text is empty')
    } else if (block.type === 'tool_result') {
      const id = block.tool_use_id
      const seen = open.get(id)
      if (seen === undefined) say(`a result of no call before it: ${id}`)
      else if (seen > 0) say(`two results of ${id}`)
      else open.set(id, 1)
      if (isPast) say(`the result of ${id} comes after a text`)
      if (block.is_error && block.content.length === 0) say(`the error of ${id} has no content`)
      for (const inner of block.content) {
        if (inner.type === 'text' && isEmpty(inner.text))
          say(`a text of the result of ${id} is empty`)
      }
    } else say(`a user has no ${block.type}`)
  }
  for (const [id, count] of open) if (count === 0) say(`no result of ${id} directly after it`)
}

const joinNeighbours = (messages: readonly AnthropicMessage[]): AnthropicMessage[] => {
  const joined: AnthropicMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (last?.role !== message.role) joined.push(message)
    else {
      joined[joined.length - 1] = {
        role: last.role,
        content: [...last.content, ...message.content],
      }
    }
  }
  return joined
}
