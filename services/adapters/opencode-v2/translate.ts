import { deriveId } from '../../log/new-id.ts'
import { NotTranslatable, type TranslatedEvent, type Translation } from '../translation.ts'
import { closeAtEnd } from './close-at-end.ts'
import {
  eventPrefix,
  isOpencodeV2,
  isRecord,
  type OpencodeEvent,
  type OpencodeSession,
} from './source.ts'
import { partTranslations, selectionTranslations } from './translate-parts.ts'
import { inputTranslations, stepTranslations } from './translate-turns.ts'
import { keepForeign, newWriter, timeOf, type Writer } from './writer.ts'

export { isOpencodeV2 }

const translations: Readonly<Record<string, (writer: Writer, source: OpencodeEvent) => void>> = {
  ...inputTranslations,
  ...stepTranslations,
  ...partTranslations,
  ...selectionTranslations,
}

/**
 * Translates a session of OpenCode 1.18 (`/api/session`). The events before the closings follow from
 * a prefix of the history alone: a longer copy gives the same ones and more. Mapping and differences:
 * docs/adapters/opencode-v2.md. Throws NotTranslatable.
 */
export const translateOpencodeV2 = (source: unknown): Translation => {
  if (!isOpencodeV2(source)) throw new NotTranslatable('this is no OpenCode session')
  const { session } = source
  const writer = newWriter(session.id)
  writer.events.push(created(session))
  const history = inOrder(source.history, writer)
  for (const event of history) translateOne(writer, event)
  const last = history.at(-1)
  const end = last
    ? { id: last.id, at: timeOf(last.data.timestamp) }
    : { id: session.id, at: timeOf(session.time?.created) }
  closeAtEnd(writer, end)
  if (session.title !== undefined) writer.events.push(titled(session, session.title, end.at))
  return {
    origin: { system: 'opencode', sessionId: session.id, live: false },
    sessionId: session.id,
    events: writer.events,
    report: { mended: [...writer.mended], left: leftOf(source) },
  }
}

const translateOne = (writer: Writer, event: OpencodeEvent): void => {
  const name = event.type.startsWith(eventPrefix) ? event.type.slice(eventPrefix.length) : ''
  const translation = Object.hasOwn(translations, name) ? translations[name] : undefined
  if (translation) translation(writer, event)
  else keepForeign(writer, event)
}

/** The source's order is that of its seqs; an event that is there twice comes in once. */
const inOrder = (history: readonly OpencodeEvent[], writer: Writer): readonly OpencodeEvent[] => {
  const seen = new Set<string>()
  const once = history.filter(({ id }) => {
    if (!seen.has(id)) return seen.add(id)
    writer.mended.add(`event ${id} is there twice`)
    return false
  })
  const sorted = once.toSorted((a, b) => (a.durable?.seq ?? 0) - (b.durable?.seq ?? 0))
  if (sorted.some((event, index) => event !== once[index])) {
    writer.mended.add('the events are not in order of their seqs')
  }
  return sorted
}

const created = (session: OpencodeSession): TranslatedEvent => ({
  eventId: deriveId('evt', session.id, 'created'),
  type: 'session.created',
  version: 1,
  occurredAt: timeOf(session.time?.created),
  data: {
    ...(session.projectID !== undefined && { project: session.projectID }),
    ...(session.location?.directory !== undefined && {
      location: { directory: session.location.directory },
    }),
    ...(session.parentID !== undefined && { parent: { sessionId: session.parentID } }),
    origin: { system: 'opencode', sessionId: session.id, live: false },
  },
  meta: {},
})

/** The title may change after any event, so it belongs to the source's end. */
const titled = (session: OpencodeSession, title: string, at: string): TranslatedEvent => ({
  eventId: deriveId('evt', session.id, 'title', title),
  type: 'session.renamed',
  version: 1,
  occurredAt: at,
  data: { title },
  meta: { importClosing: true },
})

const homes: ReadonlySet<string> = new Set(['id', 'projectID', 'title', 'location', 'parentID'])

/** What a reader of the import should know did not come in, each with its reason. */
const leftOf = (source: { session: OpencodeSession }): string[] => {
  const session = Object.keys(source.session)
    .filter((member) => !homes.has(member))
    .map((member) =>
      member === 'time'
        ? 'session.time.updated: the time of the last event says it'
        : `session.${member}: a sum or a copy of the events, which come in`,
    )
  const beside = Object.entries(source)
    .filter(([member]) => member !== 'session' && member !== 'history')
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([member, value]) =>
      isRecord(value) || Array.isArray(value)
        ? `${member}: computed from the events by OpenCode`
        : `${member}: about the recording, not the session`,
    )
  return [...session, ...beside]
}
