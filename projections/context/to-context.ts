import type { Message, MessagePart } from '../transcript/to-message.ts'

/** One entry of what a model should see next, in the order in which providers take them. */
export type ContextEntry =
  | { readonly role: 'summary'; readonly messageId: string; readonly text: string }
  | { readonly role: 'system' | 'synthetic'; readonly messageId: string; readonly text: string }
  | {
      readonly role: 'user'
      readonly messageId: string
      readonly text?: string
      readonly files?: Message['files']
    }
  | {
      readonly role: 'shell'
      readonly messageId: string
      readonly command: string
      readonly output?: string
    }
  | {
      readonly role: 'assistant'
      readonly messageId: string
      readonly parts: readonly ContextPart[]
      readonly providerState?: unknown
    }
  | {
      readonly role: 'tool'
      readonly messageId: string
      readonly callId: string
      readonly name: string
      readonly outcome: string
      readonly content: unknown
      readonly error?: unknown
    }

export type ContextPart =
  | {
      readonly type: 'text' | 'reasoning'
      readonly partId: string
      readonly text: string
      readonly providerState?: unknown
    }
  | {
      readonly type: 'call'
      readonly callId: string
      readonly name: string
      readonly input: unknown
      readonly providerState?: unknown
    }
  | { readonly type: 'excluded'; readonly partId: string; readonly reason: string }

/** What was not put in, and why. */
export type LeftOut = {
  readonly messageId: string
  readonly partId?: string
  readonly reason: 'answer' | 'excluded' | 'unsettled' | 'partial' | 'empty'
}

export type Context = {
  readonly entries: readonly ContextEntry[]
  readonly leftOut: readonly LeftOut[]
}

/**
 * The messages after the last completed compaction as a model should see them: an assistant message,
 * then the results of its calls, then what came later. Answer rows are left out, for the result of
 * the call carries them; calls without a result are not there.
 */
export const toContext = (messages: readonly Message[]): Context => {
  const entries: ContextEntry[] = []
  const leftOut: LeftOut[] = []
  for (const message of messages) {
    const { messageId } = message
    switch (message.type) {
      case 'user':
        if (message.origin === 'answer') leftOut.push({ messageId, reason: 'answer' })
        else {
          entries.push({
            role: 'user',
            messageId,
            ...(message.text !== undefined && { text: message.text }),
            ...(message.files && { files: message.files }),
          })
        }
        break
      case 'assistant':
        addAssistant(message, entries, leftOut)
        break
      case 'system':
      case 'synthetic':
        entries.push({ role: message.type, messageId, text: message.text ?? '' })
        break
      case 'shell':
        if (message.completedAt === undefined) leftOut.push({ messageId, reason: 'unsettled' })
        else {
          entries.push({
            role: 'shell',
            messageId,
            command: message.command ?? '',
            ...(message.output !== undefined && { output: message.output }),
          })
        }
        break
      case 'compaction':
        if (message.status === 'completed') {
          entries.push({ role: 'summary', messageId, text: message.summary ?? '' })
        }
        break
      case 'agent-selected':
      case 'model-selected':
        break
    }
  }
  return { entries, leftOut }
}

const addAssistant = (message: Message, entries: ContextEntry[], leftOut: LeftOut[]): void => {
  const { messageId } = message
  const parts: ContextPart[] = []
  const results: ContextEntry[] = []
  for (const part of message.parts ?? []) {
    const { partId } = part
    if (part.excluded !== undefined) {
      parts.push({ type: 'excluded', partId, reason: part.excluded })
      leftOut.push({ messageId, partId, reason: 'excluded' })
    } else if (part.type !== 'tool') {
      if (part.partial && !part.text) leftOut.push({ messageId, partId, reason: 'partial' })
      else parts.push(textPart(part, part.type))
    } else if (part.status !== 'settled' || part.name === undefined || !('input' in part)) {
      leftOut.push({ messageId, partId, reason: 'unsettled' })
    } else {
      parts.push({
        type: 'call',
        callId: partId,
        name: part.name,
        input: part.input,
        ...(part.providerState !== undefined && { providerState: part.providerState }),
      })
      results.push(resultOf(messageId, part, part.name))
    }
  }
  if (parts.length === 0) leftOut.push({ messageId, reason: 'empty' })
  else {
    entries.push({
      role: 'assistant',
      messageId,
      parts,
      ...(message.providerState !== undefined && { providerState: message.providerState }),
    })
    entries.push(...results)
  }
}

const textPart = (part: MessagePart, type: 'text' | 'reasoning'): ContextPart => ({
  type,
  partId: part.partId,
  text: part.text ?? '',
  ...(part.providerState !== undefined && { providerState: part.providerState }),
})

const resultOf = (messageId: string, part: MessagePart, name: string): ContextEntry => ({
  role: 'tool',
  messageId,
  callId: part.partId,
  name,
  outcome: part.resolved?.outcome ?? part.outcome ?? 'unknown',
  content: part.resolved?.content ?? part.content ?? [],
  ...(part.error && { error: part.error }),
})
