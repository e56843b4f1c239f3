import { isOpencodeV2, translateOpencodeV2 } from './opencode-v2/translate.ts'
import type { Translation } from './translation.ts'

/** An agent's format: how it is told by its content, and how it is translated. */
export type Adapter = {
  readonly name: string
  readonly recognises: (source: unknown) => boolean
  readonly translate: (source: unknown) => Translation
}

const adapters: readonly Adapter[] = [
  { name: 'opencode-v2', recognises: isOpencodeV2, translate: translateOpencodeV2 },
]

/** The adapter whose format this is, by its content and never by a file's name. */
export const recognise = (source: unknown): Adapter | undefined =>
  adapters.find((adapter) => adapter.recognises(source))
