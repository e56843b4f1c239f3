import type { ContextEntry, ContextPart, LeftOut } from '../../schema/http/context.ts'
import type { Message, MessagePart } from '../transcript/to-message.ts'
import { addCall } from './add-call.ts'
import type { Collected } from './collected.ts'
import { isBlank } from './is-blank.ts'
import { excludedText } from './result-content.ts'

/** An assistant message, then the results of its calls; nothing if nothing of it is left. */
export const addAssistant = (message: Message, collected: Collected): void => {
  const { messageId } = message
  const parts: ContextPart[] = []
  const results: ContextEntry[] = []
  const leaveOut = (partId: string, reason: LeftOut['reason']): void =>
    void collected.leftOut.push({ messageId, partId, reason })
  for (const part of message.parts ?? []) {
    const { partId } = part
    if (part.superseded) leaveOut(partId, 'superseded')
    else if (part.type === 'tool') addCall(messageId, part, { collected, parts, results })
    else if (part.excluded !== undefined) {
      parts.push({
        type: 'excluded',
        partId,
        of: part.type,
        reason: part.excluded,
        text: excludedText(part.excluded),
      })
      leaveOut(partId, 'excluded')
    } else {
      const reason = notThere(part)
      if (reason) leaveOut(partId, reason)
      else parts.push(textPart(part, part.type))
    }
  }
  // A thought belongs to what follows it: providers refuse one that nothing follows.
  const end = parts.findLastIndex(({ type }) => type !== 'reasoning') + 1
  for (const { partId } of parts.splice(end)) leaveOut(partId, 'nothing-follows')
  if (parts.length === 0) collected.leftOut.push({ messageId, reason: 'empty' })
  else {
    const { providerState } = message
    collected.entries.push({
      role: 'assistant',
      messageId,
      parts,
      ...(providerState !== undefined && { providerState }),
    })
    collected.entries.push(...results)
  }
}

/** Why a text is not there. A thought without words may be sealed in its provider's state. */
const notThere = (part: MessagePart): LeftOut['reason'] | undefined => {
  if (part.type === 'reasoning' && part.partial) return 'partial'
  const isSealed = part.type === 'reasoning' && part.providerState !== undefined
  return isBlank(part.text) && !isSealed ? 'empty' : undefined
}

const textPart = (part: MessagePart, type: 'text' | 'reasoning'): ContextPart => ({
  type,
  partId: part.partId,
  text: part.text ?? '',
  ...(part.providerState !== undefined && { providerState: part.providerState }),
})
