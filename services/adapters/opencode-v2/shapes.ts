import type { EventData } from '../../../schema/events/event-table.ts'
import type { Content, EventError, Model } from '../../../schema/events/shapes.ts'
import { isRecord, isText, type Members } from './members.ts'

export const takeModel = (members: Members): Model => {
  const model = members.within('model')
  const variant = model.text('variant')
  return {
    modelId: model.text('id') ?? '',
    providerId: model.text('providerID') ?? '',
    ...(variant !== undefined && { variant }),
  }
}

export const takeError = (members: Members, kind: EventError['kind']): EventError => ({
  kind,
  message: members.within('error').text('message') ?? '',
})

/** What a step cost. Amounts that are none count as 0, and stay as they are in `meta`. */
export const takeSpent = (members: Members): Pick<EventData<'step.ended'>, 'cost' | 'tokens'> => {
  const tokens = members.within('tokens')
  const cache = tokens.within('cache')
  return {
    cost: members.amount('cost') ?? 0,
    tokens: {
      input: tokens.count('input') ?? 0,
      output: tokens.count('output') ?? 0,
      reasoning: tokens.count('reasoning') ?? 0,
      cacheRead: cache.count('read') ?? 0,
      cacheWrite: cache.count('write') ?? 0,
    },
  }
}

/** Opaque state of the provider: signatures, encrypted reasoning, ids of responses. */
export const takeState = (members: Members, name: string): { providerState?: unknown } =>
  members.peek(name) === undefined ? {} : { providerState: members.any(name) }

/** What of the content has a home; if that is not all of it, all of it stays in `meta` as well. */
export const takeContent = (members: Members): Content => {
  const given = members.peek('content')
  if (!Array.isArray(given)) return []
  const content = given.flatMap((item: unknown) => contentItem(item) ?? [])
  const whole = given.every((item: unknown) =>
    hasOnly(item, ['type', 'text', 'uri', 'mime', 'name']),
  )
  if (whole && content.length === given.length) members.any('content')
  return content
}

type File = NonNullable<EventData<'input.admitted'>['files']>[number]

export const takeFiles = (prompt: Members): File[] => {
  const given = prompt.peek('files')
  if (!Array.isArray(given)) return []
  const files = given.flatMap((item: unknown) => fileItem(item) ?? [])
  const whole = given.every((item: unknown) => hasOnly(item, ['uri', 'mime', 'name']))
  if (whole && files.length === given.length) prompt.any('files')
  return files
}

const contentItem = (item: unknown): Content[number] | undefined => {
  if (!isRecord(item)) return undefined
  if (item['type'] === 'file') return fileItem(item)
  const text = item['text']
  return item['type'] === 'text' && isText(text) ? { type: 'text', text } : undefined
}

const fileItem = (item: unknown): File | undefined => {
  if (!isRecord(item)) return undefined
  const { uri, mime, name } = item
  if (!isText(uri) || !isText(mime)) return undefined
  return { type: 'file', uri, mediaType: mime, ...(isText(name) && { name }) }
}

const hasOnly = (item: unknown, names: readonly string[]): boolean =>
  isRecord(item) &&
  Object.entries(item).every(([name, value]) => names.includes(name) && isText(value))
