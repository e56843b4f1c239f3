import type { ContextEntry } from '../../../schema/http/context.ts'
import { brokenOfAnthropic, toAnthropic } from './anthropic.ts'
import { brokenOfChat, toChat } from './openai-chat.ts'
import { brokenOfResponses, toResponses } from './openai-responses.ts'

/** What the three providers would say of a context that is mapped in the plain way. */
export const brokenRules = (entries: readonly ContextEntry[]): string[] => [
  ...brokenOfAnthropic(toAnthropic(entries)).map((rule) => `Anthropic: ${rule}`),
  ...brokenOfChat(toChat(entries)).map((rule) => `Chat Completions: ${rule}`),
  ...brokenOfResponses(toResponses(entries)).map((rule) => `Responses: ${rule}`),
]
