import { Refusal } from '../../../schema/errors.ts'
import type { EventData } from '../../../schema/events/event-table.ts'
import type { Command } from '../command.ts'
import { entryOf } from '../session-state.ts'
import { applyEvent, storeEvent, type IncomingEvent } from './apply-event.ts'
import type { Decidable, Extra } from './decidable.ts'
import { lookup, type Draft } from './draft.ts'
import { applyImport, checkOrigin } from './import-command.ts'
import { messageName, turnName } from './names.ts'
import { checkOwner, isOwnerEvent } from './owner-check.ts'
import {
  answerRequest,
  closeRequest,
  expireRequests,
  revokePermission,
} from './request-commands.ts'
import {
  claimTurn,
  endInterrupted,
  failTurn,
  interruptTurn,
  releaseTurn,
  startTurn,
} from './turn-commands.ts'
import { turnActive, turnSettled, withInterruption } from './turn-rules.ts'

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

/** A fault that a rule finds in an event's data is told from the request's root. */
const atPointer = (at: string, work: () => void): void => {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.faults.length === 0) throw error
    const { code, message, members, cause } = error
    const faults = error.faults.map((fault) => ({ ...fault, pointer: `${at}${fault.pointer}` }))
    throw new Refusal(code, message, { members, faults, cause })
  }
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
      const sent: readonly IncomingEvent[] = command.events
      for (const event of rest) {
        // The turn may have ended in this very append.
        if (isOwnerEvent(event.type) && draft.state.turn?.turnId !== command.turnId) {
          throw turnSettled(draft, command.turnId ?? '')
        }
        atPointer(`/events/${sent.indexOf(event)}/data`, () =>
          applyEvent(draft, asOwner(draft, command, event)),
        )
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
      checkAdmission(draft, command)
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
    case 'claim-turn':
      checkHead(session, command)
      return claimTurn(draft, command)
    case 'release-turn':
      checkHead(session, command)
      return releaseTurn(draft, command)
    case 'interrupt-turn':
      checkHead(session, command)
      return interruptTurn(draft, command)
    case 'end-interrupted':
      return endInterrupted(draft, command)
    case 'fail-turn':
      return failTurn(draft, command)
    case 'answer-request':
      checkHead(session, command)
      return answerRequest(draft, command)
    case 'close-request':
      checkHead(session, command)
      return closeRequest(draft, command)
    case 'expire-requests':
      return expireRequests(draft, command)
    case 'revoke-permission':
      checkHead(session, command)
      return revokePermission(draft, command)
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

/** The event as its turn's owner writes it; the end of a turn carries what interrupted it. */
const asOwner = (
  draft: Draft,
  { turnId, fence }: Extract<Command, { kind: 'append' }>,
  event: IncomingEvent,
): IncomingEvent => {
  if (turnId === undefined || fence === undefined || !isOwnerEvent(event.type)) return event
  const meta = { ...event.meta, turnId, fence }
  if (event.type !== 'turn.ended') return { ...event, meta }
  const ended = event.data as EventData<'turn.ended'>
  if (ended.fence !== fence) {
    throw new Refusal('wrong_state', `turn ${turnId} is held under fence ${fence}`, {
      members: { fence },
    })
  }
  const data = withInterruption(draft, ended)
  return data === ended ? { ...event, meta } : { ...event, data, meta: { ...meta, given: ended } }
}

/** Whether an input comes as its sender expected: while nothing runs, or while that turn runs. */
const checkAdmission = (draft: Draft, command: Extract<Command, { kind: 'admit' }>): void => {
  const { turn } = draft.state
  if (command.onlyIfIdle && turn) throw turnActive(turn.turnId, turn.ownerId)
  const { expectedTurnId } = command.event.data as EventData<'input.admitted'>
  if (expectedTurnId === undefined || turn?.turnId === expectedTurnId) return
  if (lookup(draft, turnName(expectedTurnId)) === undefined) {
    throw new Refusal('no_turn', `turn ${expectedTurnId} was never started in this session`)
  }
  throw turnSettled(draft, expectedTurnId)
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
