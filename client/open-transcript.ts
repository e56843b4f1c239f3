import { fold } from '../projections/transcript/fold.ts'
import { reopen, type ReopenedMessage } from '../projections/transcript/reopen.ts'
import type { Message } from '../projections/transcript/to-message.ts'
import { emptyView } from '../projections/transcript/view.ts'
import type { Envelope, StoredEvent } from '../schema/events/envelope.ts'
import { openLive, type LiveFrame, type LivePart } from './live-parts.ts'
import { SeqGap } from './seq-gap.ts'
import { loadRows, showChanged, type ShownMessages } from './shown-messages.ts'
import { carriedBy, type TranscriptPage } from './transcript-page.ts'

/** A transcript that follows its session's events. */
export type OpenTranscript = {
  /** The seq that `messages` are of. */
  readonly asOfSeq: number
  /** In the order of the transcript. What did not change stays the same object; alter none. */
  readonly messages: readonly Message[]
  /** What is being said right now of parts that have not ended. */
  readonly live: readonly LivePart[]
  /** True once an event came that cannot be followed: from then on nothing changes. */
  readonly reload: boolean
  /**
   * Takes the session's next event; one that the page holds already does nothing.
   * Throws SeqGap if events before it are missing, TypeError if it is another session's.
   */
  apply(event: Envelope): Applied
  /** Takes a live frame. Gives whether `live` changed. */
  applyLive(frame: LiveFrame): boolean
  /**
   * Puts an older page, the one next to the first message, above it, and follows it too. Gives false
   * for a page of an earlier seq than the transcript's: read it again.
   * Throws TypeError for a page that this fold cannot go on from.
   */
  addOlder(page: TranscriptPage): boolean
}

export type Applied = {
  /** The messages that are new, or may look different now. */
  readonly changed: readonly string[]
  /** Read the page again, and open it. */
  readonly reload: boolean
}

/**
 * Opens the page that reaches the end of the transcript (`order=desc` without a cursor, or the last
 * page ascending), or an empty one of seq 0, and goes on from it with the server's own fold, so that
 * page + events = page. Throws TypeError for a page that it cannot go on from: of an earlier seq than
 * the head, of the transcript's middle, of a stalled session, of another version of the transcript.
 */
export const openTranscript = (page: TranscriptPage): OpenTranscript => {
  const carried = carriedBy(page)
  if (!carried.end) throw new TypeError('the page does not reach the end of the transcript')
  const view = emptyView(carried.end.progress)
  for (const row of carried.end.waiting) view.messages.set(row.messageId, row)
  const includeHidden = carried.includeHidden ?? false
  const ascending = page.data.toSorted((a, b) => a.seq - b.seq)
  const shown: ShownMessages = { view, includeHidden, byId: byIdOf(ascending), parts: new Map() }
  loadRows(shown, reopen(ascending, carried, page.asOfSeq))
  const live = openLive(view)

  let asOfSeq = page.asOfSeq
  let messages: readonly Message[] = ascending
  let sessionId: string | undefined
  let reload = false
  let ahead: readonly Ahead[] = []

  return {
    get asOfSeq() {
      return asOfSeq
    },
    get messages() {
      return messages
    },
    get live() {
      return live.parts()
    },
    get reload() {
      return reload
    },
    apply: (event) => {
      sessionId ??= event.sessionId
      if (event.sessionId !== sessionId) throw new TypeError(`an event of ${event.sessionId}`)
      if (reload || event.seq <= asOfSeq) return { changed: [], reload }
      if (event.seq !== asOfSeq + 1) throw new SeqGap(asOfSeq, event.seq)
      const stored = event as StoredEvent
      if (cannotFollow.has(event.type) || !folds(() => fold(view, stored))) {
        reload = true
        return { changed: [], reload }
      }
      const changed = showChanged(shown, sessionId)
      if (changed.length > 0) messages = [...shown.byId.values()]
      live.observe(stored)
      asOfSeq = event.seq
      for (const older of ahead) if (older.asOfSeq === asOfSeq) loadRows(shown, older.messages)
      ahead = ahead.filter((older) => older.asOfSeq > asOfSeq)
      return { changed, reload }
    },
    applyLive: (frame) => !reload && live.take(frame),
    addOlder: (older) => {
      const more = carriedBy(older)
      if ((more.includeHidden ?? false) !== includeHidden) {
        throw new TypeError('both pages are read with include=hidden, or none')
      }
      if (reload || older.asOfSeq < asOfSeq) return false
      const first = messages[0]?.seq ?? 0
      const added = older.data.filter(({ seq }) => seq < first).toSorted((a, b) => a.seq - b.seq)
      const rows = reopen(added, more, older.asOfSeq)
      // What is of a later seq is shown as it is, and left alone by the events that it holds.
      if (older.asOfSeq === asOfSeq) loadRows(shown, rows)
      else ahead = [...ahead, { asOfSeq: older.asOfSeq, messages: rows }]
      messages = [...added, ...messages]
      shown.byId = byIdOf(messages)
      return true
    },
  }
}

type Ahead = { readonly asOfSeq: number; readonly messages: readonly ReopenedMessage[] }

/** Which messages are shown after these, or what became of a text, only the server can say. */
const cannotFollow: ReadonlySet<string> = new Set([
  'session.forked',
  'revert.committed',
  'revert.reinstated',
  'part.redacted',
])

/** The server stops before an event that its fold cannot read. */
const folds = (work: () => void): boolean => {
  try {
    work()
    return true
  } catch {
    return false
  }
}

const byIdOf = (messages: readonly Message[]): Map<string, Message> =>
  new Map(messages.map((message) => [message.messageId, message]))
