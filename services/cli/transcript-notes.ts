import { own } from '../../projections/transcript/own.ts'
import { shownPlaces } from '../../projections/transcript/shown-places.ts'
import type { EventData, EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'

/** What the events of a session tell beside its messages: of turns, attempts and requests. */
export type TranscriptNotes = {
  /** The last event that was noted. */
  seq: number
  /** In order; each is told at its place. */
  readonly marks: Mark[]
  /** By message: the attempts that failed and were tried again. */
  readonly retries: Map<string, EventData<'step.retried'>[]>
  readonly requests: Map<string, RequestNote>
  /** What reverts cut off is not told. */
  readonly cuts: {
    readonly seq: number
    readonly lineage: EventData<'revert.committed'>['lineage']
  }[]
}

export type RequestNote = {
  readonly opened: EventData<'request.opened'>
  readonly closed?: EventData<'request.closed'>
}

type MarkType =
  | 'turn.started'
  | 'turn.claimed'
  | 'turn.released'
  | 'turn.interrupt.requested'
  | 'turn.ended'
  | 'request.opened'
  | 'request.closed'

export type Mark = Extract<StoredEvent, { type: MarkType }>

export const noNotes = (): TranscriptNotes => ({
  seq: 0,
  marks: [],
  retries: new Map(),
  requests: new Map(),
  cuts: [],
})

/** Notes the session's next event; one that was noted already does nothing. */
export const addNote = (notes: TranscriptNotes, event: StoredEvent): void => {
  if (event.seq <= notes.seq) return
  notes.seq = event.seq
  const take = own<unknown>(takers, event.type) as
    | ((notes: TranscriptNotes, event: StoredEvent) => void)
    | undefined
  take?.(notes, event)
}

type Takers = {
  readonly [T in EventType]?: (
    notes: TranscriptNotes,
    event: Extract<StoredEvent, { type: T }>,
  ) => void
}

const mark = ({ marks }: TranscriptNotes, event: Mark): void => void marks.push(event)

const takers: Takers = {
  'turn.started': mark,
  'turn.claimed': mark,
  'turn.released': mark,
  'turn.interrupt.requested': mark,
  'turn.ended': (notes, event) => {
    // An importer's closing, whose turn has gone on since.
    const { turnId } = event.data
    const before = notes.marks.findIndex(
      (other) => other.type === 'turn.ended' && other.data.turnId === turnId,
    )
    if (before >= 0) notes.marks.splice(before, 1)
    mark(notes, event)
  },
  'step.retried': ({ retries }, { data }) => {
    retries.set(data.messageId, [...(retries.get(data.messageId) ?? []), data])
  },
  'request.opened': (notes, event) => {
    notes.requests.set(event.data.requestId, { opened: event.data })
    // What a call asks is told with the call.
    if (event.data.callId === undefined) mark(notes, event)
  },
  'request.closed': (notes, event) => {
    const request = notes.requests.get(event.data.requestId)
    if (!request) return
    notes.requests.set(event.data.requestId, { ...request, closed: event.data })
    if (request.opened.callId === undefined) mark(notes, event)
  },
  'revert.committed': (notes, { seq, data }) => void notes.cuts.push({ seq, ...data }),
  'revert.reinstated': (notes, { seq, data }) => void notes.cuts.push({ seq, ...data }),
}

/** The marks behind a seq and up to another, both the session's own. */
export const marksBetween = (
  { marks, cuts, seq }: TranscriptNotes,
  sessionId: string,
  afterSeq: number,
  throughSeq: number,
): readonly Mark[] => {
  const { ranges } = shownPlaces({ cuts }, sessionId, seq)
  return marks.filter(
    (event) =>
      event.seq > afterSeq &&
      event.seq <= throughSeq &&
      ranges.some(({ from, through }) => event.seq >= from && event.seq <= through),
  )
}
