import type { Context, ContextEntry } from '../../schema/http/context.ts'
import type { Message } from '../transcript/to-message.ts'
import { addAssistant } from './add-assistant.ts'
import { addUser } from './add-user.ts'
import { noCallNames } from './call-names.ts'
import type { Collected } from './collected.ts'
import { isBlank } from './is-blank.ts'
import { wellFormed } from './well-formed.ts'

export type ContextOptions = {
  /** Whether a call with an open request is there, with a result that says that it waits. */
  readonly waiting?: 'placeholder' | undefined
}

/**
 * The messages since the last compaction as a model should see them, so that a plain mapping to a
 * provider's messages is taken: an assistant message, then the results of its calls, then what came
 * later; no call without its result, no result without its call, no id twice, nothing blank, and a
 * first entry that is not the assistant's. What is not there, and what is not as it was written, is
 * listed. Parts of superseded attempts are left out.
 */
export const toContext = (
  messages: readonly Message[],
  { waiting }: ContextOptions = {},
): Context => {
  const collected: Collected = {
    entries: [],
    leftOut: [],
    changed: [],
    names: noCallNames(),
    answers: new Map(
      messages.flatMap((message) =>
        message.requestId === undefined ? [] : [[message.requestId, message] as const],
      ),
    ),
    asked: new Set(
      messages.flatMap(({ parts = [] }) =>
        parts.flatMap(({ requestId, superseded }) => (superseded ? [] : (requestId ?? []))),
      ),
    ),
    waiting: waiting === 'placeholder',
  }
  for (const message of messages) addMessage(message, collected)
  const { leftOut, changed } = collected
  const entries = withBeginning(collected.entries).map((entry) => {
    const sound = wellFormed(entry)
    if (sound !== entry) {
      const { messageId } = entry
      const partId = entry.role === 'tool' ? entry.partId : undefined
      changed.push({ messageId, ...(partId !== undefined && { partId }), what: 'characters' })
    }
    return sound
  })
  return { entries, leftOut, changed }
}

const addMessage = (message: Message, collected: Collected): void => {
  const { messageId, type } = message
  const { entries, leftOut } = collected
  switch (type) {
    case 'user':
      return addUser(message, collected)
    case 'assistant':
      return addAssistant(message, collected)
    case 'system':
    case 'synthetic':
      return addText(type, message.text)
    case 'compaction':
      return message.status === 'completed' ? addText('summary', message.summary) : undefined
    case 'shell':
      if (message.completedAt === undefined) leftOut.push({ messageId, reason: 'unsettled' })
      else {
        const { command = '', output, exit } = message
        entries.push({
          role: 'shell',
          messageId,
          command,
          ...(output !== undefined && { output }),
          ...(exit !== undefined && { exit }),
        })
      }
      return
    case 'agent-selected':
    case 'model-selected':
      return
  }

  function addText(role: 'system' | 'synthetic' | 'summary', text: string | undefined): void {
    if (text === undefined || isBlank(text)) leftOut.push({ messageId, reason: 'empty' })
    else entries.push({ role, messageId, text })
  }
}

/** A conversation begins with what the assistant answers to; a turn may have begun without it. */
const withBeginning = (entries: readonly ContextEntry[]): readonly ContextEntry[] => {
  const first = entries.find(({ role }) => role !== 'system')
  if (first?.role !== 'assistant') return entries
  const text = '(The conversation begins without an input.)'
  return [{ role: 'synthetic', messageId: first.messageId, text, placeholder: true }, ...entries]
}
