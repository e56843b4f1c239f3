import type { Message } from '../transcript/to-message.ts'
import { answerWords } from './answer-words.ts'
import type { Collected } from './collected.ts'
import { isBlank } from './is-blank.ts'

/**
 * What a person sent. An answer is left out, for the result of its call carries it; one to a request
 * of no call that is here (it was asked without one, or summed up since) is there in words.
 */
export const addUser = (message: Message, { entries, leftOut, asked }: Collected): void => {
  const { messageId, text, files = [], requestId } = message
  if (message.origin === 'answer') {
    if (requestId === undefined || asked.has(requestId)) {
      leftOut.push({ messageId, reason: 'answer' })
    } else entries.push({ role: 'user', messageId, text: answerWords(message) })
    return
  }
  if (isBlank(text) && files.length === 0) leftOut.push({ messageId, reason: 'empty' })
  else {
    entries.push({
      role: 'user',
      messageId,
      ...(text !== undefined && !isBlank(text) && { text }),
      ...(files.length > 0 && { files }),
    })
  }
}
