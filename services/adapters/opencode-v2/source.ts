import { canonicalJson } from '../../json/canonical.ts'
import { deriveId } from '../../log/new-id.ts'
import { isRecord, isText, membersOf, toId, type Members } from './members.ts'

/** A session as OpenCode's `/api/session` routes give it: the record, and its durable events. */
export type OpencodeSource = {
  readonly session: Readonly<Record<string, unknown>> & { readonly id: string }
  readonly history: readonly unknown[]
  readonly [member: string]: unknown
}

/** An event of the history, in its place. */
export type SourceEvent = {
  /** Its own, or one that follows from its place if it has none. */
  readonly id: string
  /** Without the prefix that all of them have. */
  readonly type: string
  readonly at: string
  readonly durable: Members
  /** Of its data, but for what the envelope says: time and session. */
  readonly members: Members
  /** Members of the event beside those above. */
  readonly beside: Members
  readonly data: Readonly<Record<string, unknown>>
}

const eventPrefix = 'session.next.'

/** Whether this is such a session: told by its record and the types of its events. */
export const isOpencodeV2 = (source: unknown): source is OpencodeSource =>
  isRecord(source) &&
  isRecord(source['session']) &&
  isText(source['session']['id']) &&
  source['session']['id'] !== '' &&
  Array.isArray(source['history']) &&
  (source['history'].length === 0 || source['history'].some(isEvent))

const isEvent = (entry: unknown): boolean =>
  isRecord(entry) && isText(entry['type']) && entry['type'].startsWith(eventPrefix)

export type Notes = { readonly mended: Set<string>; readonly left: Set<string> }

/**
 * The events in the order of their seqs, each once. What is no event, what is there twice, what is
 * out of order or missing is noted.
 */
export const readHistory = (
  source: OpencodeSource,
  sessionId: string,
  notes: Notes,
): SourceEvent[] => {
  const entries = inOrder(source.history, notes)
  const seen = new Map<string, string>()
  const events: SourceEvent[] = []
  let at = timeOf(membersOf(source.session).within('time').amount('created')) ?? epoch
  for (const { entry, seq, index } of entries) {
    const event = readEvent(entry, sessionId, seq ?? index, at, notes)
    const content = canonicalJson(entry)
    const known = seen.get(event.id)
    if (known === content) {
      notes.mended.add(`event ${event.id} is there twice and came in once`)
      continue
    }
    at = event.at
    seen.set(event.id, content)
    if (known === undefined) events.push(event)
    else {
      const id = deriveId('evt', sessionId, event.id, content)
      notes.mended.add(`event ${event.id} is there with two contents: the second is now ${id}`)
      events.push({ ...event, id })
    }
  }
  return events
}

type Entry = {
  readonly entry: Readonly<Record<string, unknown>>
  readonly seq: number | undefined
  readonly index: number
}

const inOrder = (history: readonly unknown[], notes: Notes): readonly Entry[] => {
  const entries = history.flatMap((entry, index): Entry[] => {
    if (!isRecord(entry) || !isText(entry['type']) || !isRecord(entry['data'])) {
      notes.left.add(`history[${index}]: it is no event`)
      return []
    }
    const seq = isRecord(entry['durable']) ? entry['durable']['seq'] : undefined
    return [{ entry, index, seq: Number.isSafeInteger(seq) ? (seq as number) : undefined }]
  })
  if (entries.some(({ seq }) => seq === undefined)) {
    notes.mended.add('some events have no seq: all are in the order of the file')
    return entries
  }
  const sorted = entries.toSorted((a, b) => a.seq! - b.seq!)
  if (sorted.some((entry, index) => entry !== entries[index])) {
    notes.mended.add('the events were not in the order of their seqs')
  }
  for (const [index, { seq }] of sorted.entries()) {
    const next = index === 0 ? 1 : sorted[index - 1]!.seq! + 1
    if (seq! > next) {
      const last = seq! - 1
      notes.left.add(`events ${next} to ${last} of the source: they are not in the file`)
    }
  }
  return sorted
}

const readEvent = (
  entry: Readonly<Record<string, unknown>>,
  sessionId: string,
  place: number,
  before: string,
  notes: Notes,
): SourceEvent => {
  const beside = membersOf(entry)
  const type = beside.text('type')!
  const own = beside.id('id')
  const id = own ?? deriveId('evt', sessionId, 'place', String(place))
  if (own === undefined) notes.mended.add(`event ${place} had no id: it is now ${id}`)
  const data = beside.any('data') as Readonly<Record<string, unknown>>
  const durable = beside.within('durable')
  const members = membersOf(data)
  const at = timeOf(members.peek('timestamp'))
  if (at === undefined) notes.mended.add(`event ${id} had no time: it got that of the one before`)
  else members.any('timestamp')
  for (const [from, name] of [
    [members, 'sessionID'],
    [durable, 'aggregateID'],
  ] as const) {
    const named = from.peek(name)
    if (isText(named) && toId(named) === sessionId) from.any(name)
  }
  return {
    id,
    type: type.startsWith(eventPrefix) ? type.slice(eventPrefix.length) : type,
    at: at ?? before,
    durable,
    members,
    beside,
    data,
  }
}

export const epoch = new Date(0).toISOString()
const lastMillisecond = Date.parse('9999-12-31T23:59:59.999Z')

/** Milliseconds of the epoch as a timestamp; undefined for what is none. */
export const timeOf = (milliseconds: unknown): string | undefined =>
  typeof milliseconds === 'number' && milliseconds >= 0 && milliseconds <= lastMillisecond
    ? new Date(milliseconds).toISOString()
    : undefined
