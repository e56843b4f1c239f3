import { takeState } from './shapes.ts'
import type { SourceEvent } from './source.ts'
import { takeStep } from './translate-steps.ts'
import { keepForeign, newPartId, write, type Translate, type Writer } from './writer.ts'

type TextKind = 'text' | 'reasoning'

export const textTranslations: Readonly<Record<string, Translate>> = {
  'text.started': (writer, source) => start(writer, source, 'text', 'textID'),
  'text.ended': (writer, source) => end(writer, source, 'text', 'textID'),
  'reasoning.started': (writer, source) => start(writer, source, 'reasoning', 'reasoningID'),
  'reasoning.ended': (writer, source) => end(writer, source, 'reasoning', 'reasoningID'),
}

const start = (writer: Writer, source: SourceEvent, kind: TextKind, idMember: string): void => {
  const step = takeStep(writer, source)
  if (!step) return keepForeign(writer, source, 'its step is not open')
  const named = source.members.id(idMember)
  if (named === undefined) return keepForeign(writer, source, 'it names no part')
  const key = `${kind}:${named}`
  if (step.parts.has(key)) return keepForeign(writer, source, 'its part is open')
  const partId = newPartId(writer, step, named)
  step.parts.set(key, { partId, kind })
  write(writer, source, `${kind}.started`, { messageId: step.messageId, partId })
}

/** An end without a beginning is a whole part. */
const end = (writer: Writer, source: SourceEvent, kind: TextKind, idMember: string): void => {
  const step = takeStep(writer, source)
  if (!step) return keepForeign(writer, source, 'its step is not open')
  const { members } = source
  const named = members.id(idMember)
  if (named === undefined) return keepForeign(writer, source, 'it names no part')
  const key = `${kind}:${named}`
  const partId = step.parts.get(key)?.partId ?? newPartId(writer, step, named)
  step.parts.delete(key)
  write(writer, source, `${kind}.ended`, {
    messageId: step.messageId,
    partId,
    text: members.text('text') ?? '',
    ...takeState(members, 'providerMetadata'),
  })
}
