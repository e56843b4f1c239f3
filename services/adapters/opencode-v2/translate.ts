import { NotTranslatable, type Translation } from '../translation.ts'
import { closeAtEnd } from './close-at-end.ts'
import { isOpencodeV2, readHistory, type Notes, type SourceEvent } from './source.ts'
import { inputTranslations, selectionTranslations } from './translate-inputs.ts'
import { readSession, sessionIdOf, titled } from './translate-session.ts'
import { stepTranslations } from './translate-steps.ts'
import { textTranslations } from './translate-text.ts'
import { toolTranslations } from './translate-tools.ts'
import { keepForeign, newWriter, type Translate, type Writer } from './writer.ts'

export { isOpencodeV2 }

const translations: Readonly<Record<string, Translate>> = {
  ...inputTranslations,
  ...selectionTranslations,
  ...stepTranslations,
  ...textTranslations,
  ...toolTranslations,
}

/**
 * Translates a session of OpenCode 1.18 (`/api/session`). The events before the closings follow from
 * a prefix of the history alone: a longer copy gives the same ones and more. Mapping and differences:
 * docs/adapters/opencode-v2.md. Throws NotTranslatable.
 */
export const translateOpencodeV2 = (source: unknown): Translation => {
  if (!isOpencodeV2(source)) throw new NotTranslatable('this is no OpenCode session')
  const sessionId = sessionIdOf(source)
  const notes: Notes = { mended: new Set(), left: new Set() }
  const { created, title, left } = readSession(source)
  for (const what of left) notes.left.add(what)
  const history = readHistory(source, sessionId, notes)
  const writer = newWriter(sessionId, notes)
  writer.events.push(created)
  for (const event of history) translateOne(writer, event)
  const end = history.at(-1) ?? { id: created.eventId, at: created.occurredAt }
  closeAtEnd(writer, { id: end.id, at: end.at })
  if (title !== undefined) writer.events.push(titled(sessionId, title, end))
  return {
    origin: { system: 'opencode', sessionId: source.session.id, live: false },
    sessionId,
    events: writer.events,
    report: { mended: [...notes.mended], left: [...notes.left] },
  }
}

const translateOne = (writer: Writer, event: SourceEvent): void => {
  const translate = Object.hasOwn(translations, event.type) ? translations[event.type] : undefined
  if (translate) translate(writer, event)
  else keepForeign(writer, event)
}
