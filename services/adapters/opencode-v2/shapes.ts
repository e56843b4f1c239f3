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
  if (content.length === given.length) members.any('content')
  return content
}

type File = NonNullable<EventData<'input.admitted'>['files']>[number]

export const takeFiles = (prompt: Members): File[] => {
  const given = prompt.peek('files')
  if (!Array.isArray(given)) return []
  const files = given.flatMap((item: unknown) => fileItem(item, ['uri', 'mime', 'name']) ?? [])
  if (files.length === given.length) prompt.any('files')
  return files
}

const contentItem = (item: unknown): Content[number] | undefined => {
  if (isRecord(item) && item['type'] === 'text' && isText(item['text'])) {
    return hasOnly(item, ['type', 'text']) ? { type: 'text', text: item['text'] } : undefined
  }
  return isRecord(item) && item['type'] === 'file'
    ? fileItem(item, ['type', 'uri', 'mime', 'name'])
    : undefined
}

const fileItem = (item: unknown, members: readonly string[]): File | undefined => {
  if (!isRecord(item) || !hasOnly(item, members)) return undefined
  const { uri, mime, name } = item
  if (!isText(uri) || !isText(mime) || !(name === undefined || isText(name))) return undefined
  return { type: 'file', uri, mediaType: mime, ...(name !== undefined && { name }) }
}

const hasOnly = (item: Readonly<Record<string, unknown>>, members: readonly string[]): boolean =>
  Object.keys(item).every((name) => members.includes(name))
