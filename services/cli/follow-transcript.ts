import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { Session } from '../../schema/http/sessions.ts'
import type { LiveOut } from '../../schema/socket/live.ts'
import type { Static } from 'typebox'
import { addFrame, endParts, type LiveParts } from '../live/live-parts.ts'
import { ServiceProblem, type ServiceClient } from './client-request.ts'
import { follow } from './follow.ts'
import { openLine, patiently } from './outage.ts'
import { openPreview, type Preview } from './preview.ts'
import { readPages, type Page } from './read-transcript.ts'
import { renderOpen } from './render-open.ts'
import { readNotes } from './read-notes.ts'
import {
  renderHead,
  renderMessages,
  type Printed,
  type TranscriptView,
} from './render-transcript.ts'
import { trackSettled, type MessageReply } from './settled.ts'
import { addNote, noNotes } from './transcript-notes.ts'
import { untilInterrupted } from './until-interrupted.ts'
import { escapeJson, writeOut } from './write-out.ts'

export type FollowedTranscript = {
  readonly client: ServiceClient
  /** The session's path. */
  readonly path: string
  readonly session: Static<typeof Session>
  /** Entries of a page. */
  readonly limit: number
  readonly view: TranscriptView
  readonly json: boolean
}

/** Newest messages that are looked at again: a step that is tried again may stand among them. */
const newest = 20
/** A service that takes longer hangs: it is asked again. */
const longestReadMs = 30_000

/**
 * Prints a transcript and goes on with what comes: each message once, when it is complete. Gives the
 * exit code.
 */
export const followTranscript = async (given: FollowedTranscript): Promise<number> => {
  const { client, path, session, limit, json } = given
  const { headSeq, turn } = session
  const settled = trackSettled(
    ({ type, seq, turnId }) =>
      seq <= headSeq &&
      type !== 'shell' &&
      (type === 'assistant' ? turnId !== turn?.turnId : turn === undefined),
  )
  const notes = given.view.notes ?? noNotes()
  const printer = printerFor(given)
  /** What was said up to a seq is told before what comes after it. */
  const note = async (throughSeq: number, signal?: AbortSignal): Promise<void> => {
    if (!json) await readNotes(notes, throughSeq, { client, path, limit }, signal)
  }
  const print = async (messages: readonly MessageReply[]): Promise<void> => {
    const taken = settled.take(messages)
    await printer.settled(taken, settled.waiting(), (settled.held() ?? notes.seq + 1) - 1)
  }
  const line = openLine(printer.say)

  let isStalled = false
  const stalled = ({ stalled: at }: Page): void => {
    if (at && !isStalled) {
      printer.say(`the transcript stands still since seq ${at.seq} (${at.code})`)
    }
    isStalled = at !== undefined
  }

  /** What the log says now, from the last message that is printed. Gives the seq it is true for. */
  const refresh = async (signal: AbortSignal): Promise<number | undefined> => {
    let asOfSeq: number | undefined
    const messages: MessageReply[] = []
    const within = AbortSignal.any([signal, AbortSignal.timeout(longestReadMs)])
    const query = { limit: newest, order: 'desc' } as const
    for await (const page of readPages(client, path, query, within)) {
      asOfSeq ??= page.asOfSeq
      stalled(page)
      messages.push(...page.data)
      if ((page.data.at(-1)?.seq ?? 0) <= settled.floor()) break
    }
    if (asOfSeq !== undefined) await note(asOfSeq, within)
    await print(messages.toReversed())
    return asOfSeq
  }

  if (!json) await writeOut(renderHead(session, given.view))
  let asOfSeq: number | undefined
  for await (const page of readPages(client, path, { limit, order: 'asc' })) {
    // What was appended while later pages were read is followed from here, too.
    asOfSeq ??= page.asOfSeq
    await note(asOfSeq)
    const messages = [...settled.waiting(), ...page.data]
    if (page.cursor.next === null) await print(messages)
    // Of marks only those that are followed by a message of this page.
    else await printer.settled(settled.take(messages), settled.waiting(), 0)
  }
  const from = { afterSeq: asOfSeq ?? 0 }
  const until = async (signal: AbortSignal): Promise<number> => {
    for await (const followed of follow(client, { path: `${path}/events`, from }, line, signal)) {
      switch (followed.kind) {
        case 'live':
          await printer.live(followed.frame)
          break
        case 'event': {
          const { envelope } = followed
          printer.ended(envelope as unknown as StoredEvent)
          if (envelope.seq === notes.seq + 1) addNote(notes, envelope as unknown as StoredEvent)
          if (envelope.seq <= (asOfSeq ?? 0)) break
          if (!printer.showsOpen && growsOnly.has(envelope.type)) break
          asOfSeq = await patiently(() => refresh(signal), line, signal).catch(unlessDeleted)
          break
        }
        case 'reset':
          printer.say('the service has another log now than the one that was followed')
          return 1
        case 'ended':
          printer.say(`the session is ${followed.reason}; nothing follows`)
          return 0
        case 'caught-up':
          break
      }
    }
    await writeOut(printer.clear())
    return 0
  }
  return untilInterrupted((signal) =>
    until(signal).catch((error: unknown) => {
      // Deleted between the page and the stream, which then was never opened.
      unlessDeleted(error)
      printer.say('the session is deleted; nothing follows')
      return 0
    }),
  )
}

/** What completes no message, and begins none that is complete. */
const growsOnly: ReadonlySet<string> = new Set([
  'step.started',
  'text.started',
  'text.ended',
  'reasoning.started',
  'reasoning.ended',
  'tool.input.started',
  'tool.input.ended',
  'tool.called',
  'tool.dispatched',
  'tool.settled',
])

/** The stream says so, too, after the last event. */
const unlessDeleted = (error: unknown): undefined => {
  if (error instanceof ServiceProblem && error.problem.code === 'session_deleted') return
  throw error
}

type Printer = {
  /** Whether what is open is shown, too. */
  readonly showsOpen: boolean
  readonly settled: (
    messages: readonly MessageReply[],
    waiting: readonly MessageReply[],
    /** Behind the messages, marks are told up to here. */
    throughSeq: number,
  ) => Promise<void>
  readonly live: (frame: LiveOut) => Promise<void>
  /** Notes what an event ends. */
  readonly ended: (event: StoredEvent) => void
  /** What takes away what is only shown. */
  readonly clear: () => string
  /** Says something beside the transcript. */
  readonly say: (text: string) => void
}

const printerFor = ({ view, json }: FollowedTranscript): Printer => {
  const showsOpen = process.stdout.isTTY && !json
  const preview: Preview = openPreview(() => process.stdout)
  let printed: Printed = { seq: 0 }
  let open: readonly MessageReply[] = []
  let parts: LiveParts = new Map()
  const draw = (): string => (showsOpen ? preview.draw(renderOpen(open, parts, view)) : '')
  return {
    showsOpen,
    settled: async (messages, waiting, throughSeq) => {
      open = waiting
      if (json) {
        const lines = messages.map((message) => `${escapeJson(JSON.stringify(message))}\n`)
        return writeOut(lines.join(''))
      }
      const rendered = renderMessages(messages, view, printed, throughSeq)
      printed = rendered.printed
      return writeOut(preview.clear() + rendered.text + draw())
    },
    live: async (frame) => {
      if (!showsOpen || 'resync' in frame) return
      parts = addFrame(parts, frame).parts
      await writeOut(draw())
    },
    ended: (event) => {
      parts = endParts(parts, event)
    },
    clear: preview.clear,
    say: (text) => {
      process.stdout.write(preview.clear())
      process.stderr.write(`stemma show: ${text}\n`)
    },
  }
}
