import { Refusal } from '../../../schema/errors.ts'
import type { Command } from '../command.ts'
import {
  entryOf,
  followsSource,
  openThings,
  withMembers,
  type SessionState,
} from '../session-state.ts'
import { applyEvent, type IncomingEvent } from './apply-event.ts'
import type { Decidable, Extra } from './decidable.ts'
import { lookup, note, type Draft } from './draft.ts'
import { importedTitleName } from './names.ts'

type ImportCommand = Extract<Command, { kind: 'import' }>

/**
 * Brings in what the source has and the log lacks. What an importer closed at its source's end
 * (`meta.importClosing`) is re-opened when later events of the source arrive, and its closings are
 * left out when nothing else is new: so importing again, or a shorter copy, changes nothing.
 */
export const applyImport = (
  draft: Draft,
  session: Decidable,
  command: ImportCommand,
  duplicates: ReadonlyMap<string, number>,
): Extra => {
  checkOrigin(session, command)
  const missing = missingOf(command.events, duplicates)
  if (!missing.some((event) => !event.meta.importClosing)) return { skipped: missing.length }
  checkClosingIds(command.events, duplicates)
  checkUndiverged(draft)
  reopen(draft)

  let before: SessionState | undefined
  let skipped = 0
  for (const event of missing) {
    if (!event.meta.importClosing) {
      if (before) throw misplaced(event.eventId)
      applyEvent(draft, event)
    } else if (closesNothing(draft.state, event) || isTitleAlready(draft, event)) skipped += 1
    else {
      before ??= draft.state
      if (event.type === 'session.renamed') note(draft, importedTitleName)
      applyEvent(draft, event)
    }
  }
  draft.state = withMembers(draft.state, {
    importBefore: {
      head: draft.head,
      ...(before && hasOpenThings(before) && { open: openThings(before) }),
    },
  })
  return { skipped }
}

export const checkOrigin = (
  session: Decidable,
  { origin, sessionId, events }: ImportCommand,
): void => {
  if (session.head === 0) {
    if (events[0]?.type !== 'session.created') {
      throw new Refusal('invalid_body', 'the import of a new session begins with session.created', {
        faults: [{ pointer: '/events/0/type', detail: 'must be session.created' }],
      })
    }
    const named = (events[0].data as { origin?: { system: string; sessionId: string } }).origin
    if (named?.system !== origin.system || named.sessionId !== origin.sessionId) {
      throw new Refusal('invalid_body', 'session.created names another origin than the import', {
        faults: [{ pointer: '/events/0/data/origin', detail: 'must be the origin of the import' }],
      })
    }
    return
  }
  const own = session.state.origin
  if (own?.system !== origin.system || own.sessionId !== origin.sessionId) {
    throw new Refusal('duplicate_id', `session ${sessionId} did not come from this origin`)
  }
}

/**
 * A closing belongs to one end of the source. Under an id that is there already it would count as
 * known, and what the new events re-open would stay open.
 */
const checkClosingIds = (
  events: readonly IncomingEvent[],
  duplicates: ReadonlyMap<string, number>,
): void => {
  const lastNew = events.findLastIndex((e) => !duplicates.has(e.eventId) && !e.meta.importClosing)
  const stale = events.findIndex(
    (event, index) =>
      index > lastNew &&
      event.meta.importClosing &&
      closingTypes.has(event.type) &&
      duplicates.has(event.eventId),
  )
  if (stale < 0) return
  throw new Refusal('invalid_body', 'a closing of an earlier end of the source was sent again', {
    faults: [
      {
        pointer: `/events/${stale}/eventId`,
        detail: 'must be new, for what it closes is open again',
      },
    ],
  })
}

const closingTypes: ReadonlySet<string> = new Set([
  'request.closed',
  'tool.settled',
  'text.ended',
  'reasoning.ended',
  'step.failed',
  'step.ended',
  'turn.ended',
  'compaction.failed',
  'shell.ended',
  'epoch.failed',
])

/** What anybody else wrote since, the store included, the source does not know of. */
const checkUndiverged = ({ state, head }: Draft): void => {
  const { importBefore } = state
  if (!importBefore || followsSource(state, head)) return
  throw new Refusal(
    'import_diverged',
    `the session was written to after seq ${importBefore.head}, where its import ended`,
    { members: { importSeq: importBefore.head, headSeq: head } },
  )
}

const reopen = (draft: Draft): void => {
  const before = draft.state.importBefore
  if (!before?.open) return
  const { turn, step, requests, compactions, shells, epochs } = before.open
  draft.state = withMembers(draft.state, {
    turn,
    step,
    requests,
    compactions,
    shells,
    epochs,
    importBefore: undefined,
  })
}

/** A closing whose target is not open (any more) has nothing to close. */
const closesNothing = (state: SessionState, { type, data }: IncomingEvent): boolean => {
  const named = data as {
    messageId?: string
    partId?: string
    callId?: string
    requestId?: string
    turnId?: string
    compactionId?: string
    epochId?: string
  }
  const step = state.step?.messageId === named.messageId ? state.step : undefined
  switch (type) {
    case 'request.closed':
      return !entryOf(state.requests, named.requestId ?? '')
    case 'tool.settled':
      return !entryOf(step?.calls, named.callId ?? '')
    case 'text.ended':
    case 'reasoning.ended':
      return !entryOf(step?.parts, named.partId ?? '')
    case 'step.failed':
    case 'step.ended':
      return !step
    case 'turn.ended':
      return state.turn?.turnId !== named.turnId
    case 'compaction.failed':
      return !entryOf(state.compactions, named.compactionId ?? '')
    case 'shell.ended':
      return !entryOf(state.shells, named.messageId ?? '')
    case 'epoch.failed':
      return !entryOf(state.epochs, named.epochId ?? '')
    default:
      return false
  }
}

/** The title at the source's end, sent again under the id of a later end. */
const isTitleAlready = (draft: Draft, { type, data }: IncomingEvent): boolean => {
  if (type !== 'session.renamed') return false
  const last = lookup(draft, importedTitleName)?.data as { title?: string } | undefined
  return last?.title === (data as { title?: string }).title
}

const hasOpenThings = (state: SessionState): boolean => Object.keys(openThings(state)).length > 0

const missingOf = (
  events: readonly IncomingEvent[],
  duplicates: ReadonlyMap<string, number>,
): readonly IncomingEvent[] => {
  const seen = new Set(duplicates.keys())
  return events.filter(({ eventId }) => !seen.has(eventId) && seen.add(eventId))
}

const misplaced = (eventId: string): Refusal =>
  new Refusal('invalid_body', `event ${eventId} stands after a closing of the source's end`, {
    faults: [{ pointer: '/events', detail: 'events with meta.importClosing come last' }],
  })
