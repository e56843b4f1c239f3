import { Refusal } from '../../../schema/errors.ts'
import { eventTable, type EventData, type EventType } from '../../../schema/events/event-table.ts'
import type { Command } from '../command.ts'
import { entryOf } from '../session-state.ts'
import { applyEvent, type IncomingEvent } from './apply-event.ts'
import type { Decidable, Extra } from './decidable.ts'
import { derivedEventId, lookup, messageName, type Draft } from './draft.ts'
import { applyImport, checkOrigin } from './import-command.ts'
import { checkOwner, isOwnerEvent } from './owner-check.ts'
import { turnActive, turnSettled } from './turn-rules.ts'

/** Moves the draft by one command. `duplicates` are events that the log has; the rest is decided. */
export const applyCommand = (
  draft: Draft,
  session: Decidable,
  command: Command,
  duplicates: ReadonlyMap<string, number>,
): Extra => {
  if ('events' in command && restOf(command.events, duplicates).length === 0) {
    if (command.kind === 'import') checkOrigin(session, command)
    return {}
  }
  if (command.kind === 'create' || command.kind === 'import') {
    if (command.kind === 'create' && session.head > 0) throw taken(command.sessionId)
  } else if (session.head === 0) {
    throw new Refusal('session_not_found', `there is no session ${command.sessionId}`)
  }
  if (draft.state.deleted && command.kind !== 'restore') {
    throw new Refusal('session_deleted', `session ${command.sessionId} is deleted`)
  }
  return applyKnown(draft, session, command, duplicates)
}

/** The command on a session that may take it. */
const applyKnown = (
  draft: Draft,
  session: Decidable,
  command: Command,
  duplicates: ReadonlyMap<string, number>,
): Extra => {
  switch (command.kind) {
    case 'append': {
      const rest = restOf(command.events, duplicates)
      checkOwner(draft, command, rest)
      checkHead(session, command)
      for (const event of rest) {
        // The turn may have ended in this very append.
        if (isOwnerEvent(event.type) && draft.state.turn?.turnId !== command.turnId) {
          throw turnSettled(draft, command.turnId ?? '')
        }
        const meta =
          command.turnId !== undefined && command.fence !== undefined && isOwnerEvent(event.type)
            ? { ...event.meta, turnId: command.turnId, fence: command.fence }
            : event.meta
        applyEvent(draft, { ...event, meta })
      }
      return {}
    }
    case 'import':
      checkHead(session, command)
      return applyImport(draft, session, command, duplicates)
    case 'create':
      checkHead(session, command)
      applyEvent(draft, command.event)
      return {}
    case 'admit':
      checkHead(session, command)
      if (command.onlyIfIdle && draft.state.turn) {
        throw turnActive(draft.state.turn.turnId, draft.state.turn.ownerId)
      }
      applyEvent(draft, command.event)
      return {}
    case 'change-input':
      checkHead(session, command)
      needWaitingInput(draft, command.messageId)
      applyEvent(
        draft,
        storeEvent(command.eventId, 'input.changed', {
          messageId: command.messageId,
          delivery: command.delivery,
        }),
      )
      return {}
    case 'cancel-input':
      checkHead(session, command)
      needWaitingInput(draft, command.messageId)
      applyEvent(
        draft,
        storeEvent(command.eventId, 'input.cancelled', { messageId: command.messageId }),
      )
      return {}
    case 'start-turn':
      checkHead(session, command)
      return startTurn(draft, command)
    case 'delete':
      checkHead(session, command)
      applyEvent(draft, storeEvent(command.eventId, 'session.deleted', {}))
      return {}
    case 'restore':
      checkHead(session, command)
      applyEvent(draft, storeEvent(command.eventId, 'session.restored', {}))
      return {}
  }
  return command satisfies never
}

/** The turn under the next fence, and the inputs that it takes up (rules 4, 5, 8). */
const startTurn = (draft: Draft, command: Extract<Command, { kind: 'start-turn' }>): Extra => {
  const active = draft.state.turn
  if (active) throw turnActive(active.turnId, active.ownerId)
  const fence = draft.state.fence + 1
  applyEvent(
    draft,
    storeEvent(command.eventId, 'turn.started', {
      turnId: command.turnId,
      ownerId: command.ownerId,
      ...(command.incarnation !== undefined && { incarnation: command.incarnation }),
      fence,
      inputs: [...command.inputs],
      ...(command.resumes !== undefined && { resumes: [...command.resumes] }),
    }),
  )
  for (const messageId of command.inputs) {
    const eventId = derivedEventId(command.eventId, `delivered ${messageId}`)
    applyEvent(
      draft,
      storeEvent(eventId, 'input.delivered', { messageId, turnId: command.turnId }),
      true,
    )
  }
  return { turn: { turnId: command.turnId, fence } }
}

const needWaitingInput = (draft: Draft, messageId: string): void => {
  if (entryOf(draft.state.inputs, messageId)) return
  if (lookup(draft, messageName(messageId)) === undefined) {
    throw new Refusal('input_not_found', `there is no input ${messageId}`)
  }
  throw new Refusal('input_delivered', `input ${messageId} does not wait any more`)
}

const checkHead = (session: Decidable, command: Command): void => {
  if (command.expectedSeq !== undefined && command.expectedSeq !== session.head) {
    throw new Refusal(
      'expected_seq',
      `the session is at seq ${session.head}, not ${command.expectedSeq}`,
      { members: { headSeq: session.head } },
    )
  }
  if (command.ifMatch !== undefined && command.ifMatch !== session.head) {
    throw new Refusal(
      'precondition_failed',
      `the session is at seq ${session.head}, not ${command.ifMatch}`,
      { members: { headSeq: session.head } },
    )
  }
}

const taken = (sessionId: string): Refusal =>
  new Refusal('duplicate_id', `session ${sessionId} is there already`)

/** Each event that the log lacks, once, even if the request names it twice. */
const restOf = (
  events: readonly IncomingEvent[],
  duplicates: ReadonlyMap<string, number>,
): readonly IncomingEvent[] => {
  const seen = new Set<string>()
  return events.filter(({ eventId }) => {
    if (duplicates.has(eventId) || seen.has(eventId)) return false
    seen.add(eventId)
    return true
  })
}

const storeEvent = <T extends EventType>(
  eventId: string,
  type: T,
  data: EventData<T>,
): IncomingEvent => ({ eventId, type, version: eventTable[type].version, data, meta: {} })
