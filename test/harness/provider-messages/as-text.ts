import type { ContextEntry } from '../../../schema/http/context.ts'
import type { Content } from '../../../schema/events/shapes.ts'

type Spoken = Exclude<ContextEntry, { role: 'assistant' | 'tool' }>

/** What is not the assistant's and no result, as the texts that a host without finesse would send. */
export const asTexts = (entry: Spoken): string[] => {
  switch (entry.role) {
    case 'user':
      return [
        ...(entry.text === undefined ? [] : [entry.text]),
        ...(entry.files ?? []).map(fileText),
      ]
    case 'shell':
      return [`$ ${entry.command}\n${entry.output ?? ''}`]
    default:
      return [entry.text]
  }
}

export const contentTexts = (content: Content): string[] =>
  content.map((item) => (item.type === 'text' ? item.text : fileText(item)))

const fileText = (file: { readonly name?: string; readonly mediaType: string }): string =>
  `[file ${file.name ?? ''} ${file.mediaType}]`

/** Whether there is no lone surrogate in it: the bodies of requests must be valid Unicode. */
export const isValid = (value: unknown): boolean => {
  let isSound = true
  JSON.stringify(value, (key, member: unknown) => {
    if (!key.isWellFormed()) isSound = false
    if (typeof member === 'string' && !member.isWellFormed()) isSound = false
    return member
  })
  return isSound
}

export const isEmpty = (text: unknown): boolean => typeof text !== 'string' || text.trim() === ''
