import { Refusal } from '../../../schema/errors.ts'
import type { EventData } from '../../../schema/events/event-table.ts'
import { canonicalJson } from '../../json/canonical.ts'
import type { Answer, Command } from '../command.ts'
import { entryOf, followsSource } from '../session-state.ts'
import { applyEvent, storeEvent } from './apply-event.ts'
import { checkAnswer } from './check-answer.ts'
import type { Extra } from './decidable.ts'
import { derivedEventId, lookup, type Draft, type NameFact } from './draft.ts'
import {
  messageName,
  permissionName,
  requestName,
  revokedName,
  settledRequestName,
} from './names.ts'
import { clockNow } from './owner-facts.ts'

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>

/** Rule 17: the first answer wins; the same again is answered as the first time. */
export const answerRequest = (draft: Draft, command: Of<'answer-request'>): Extra => {
  const { requestId, messageId, answer, by, eventId } = command
  if (!entryOf(draft.state.requests, requestId)) return answerAgain(draft, requestId, answer)
  const asked = lookup(draft, requestName(requestId))!.data as EventData<'request.opened'>
  checkAnswer(asked, answer)
  const standing = standingRule(asked, answer)
  if (standing) {
    const granted = storeEvent(derivedEventId(eventId, 'standing'), 'permission.granted', {
      rule: standing,
    })
    applyEvent(draft, granted, true)
  }
  applyEvent(
    draft,
    storeEvent(eventId, 'request.answered', { requestId, messageId, ...answer, by }),
  )
  return { answer: { messageId, seq: draft.head } }
}

/** Rule 19: that nothing was answered, and in which way. */
export const closeRequest = (draft: Draft, command: Of<'close-request'>): Extra => {
  const { requestId, reason, messageId, eventId } = command
  if (!entryOf(draft.state.requests, requestId)) {
    const { closed } = settledAs(needSettled(draft, requestId))
    if (closed?.reason === reason && closed.messageId === messageId) return {}
    throw requestSettled(draft, requestId)
  }
  if (messageId !== undefined && lookup(draft, messageName(messageId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no message ${messageId}`)
  }
  applyEvent(
    draft,
    storeEvent(eventId, 'request.closed', {
      requestId,
      reason,
      ...(messageId !== undefined && { messageId }),
    }),
  )
  return {}
}

/** Closes what has expired by the database's clock; a source that is copied closes its own. */
export const expireRequests = (draft: Draft, { eventId }: Of<'expire-requests'>): Extra => {
  if (followsSource(draft.state, draft.head)) return {}
  const now = clockNow(draft)
  for (const [requestId, { expiresAt }] of Object.entries(draft.state.requests ?? {})) {
    // What an importer brought in may be no instant: then it does not expire.
    if (expiresAt === undefined || !(Date.parse(expiresAt) <= now)) continue
    const closed = { requestId, reason: 'expired' as const }
    applyEvent(
      draft,
      storeEvent(derivedEventId(eventId, `expired ${requestId}`), 'request.closed', closed),
    )
  }
  return {}
}

/** Takes a standing decision back: later requests are asked again. */
export const revokePermission = (draft: Draft, command: Of<'revoke-permission'>): Extra => {
  const { requestId, eventId } = command
  const granted = lookup(draft, permissionName(requestId))
  if (!granted) {
    throw new Refusal('permission_not_found', `request ${requestId} left no standing decision`)
  }
  if (lookup(draft, revokedName(requestId)) !== undefined) return {}
  const { rule } = granted.data as EventData<'permission.granted'>
  applyEvent(draft, storeEvent(eventId, 'permission.revoked', { rule }))
  return {}
}

type Settled = EventData<'request.answered'> | EventData<'request.closed'>

const settledAs = ({ data }: NameFact) => {
  const settled = data as Settled
  return 'by' in settled
    ? { answered: settled, closed: undefined }
    : { answered: undefined, closed: settled }
}

const needSettled = (draft: Draft, requestId: string): NameFact => {
  const settled = lookup(draft, settledRequestName(requestId))
  if (settled) return settled
  throw new Refusal('request_not_found', `the session has no request ${requestId}`)
}

const answerAgain = (draft: Draft, requestId: string, answer: Answer): Extra => {
  const settled = needSettled(draft, requestId)
  const { answered } = settledAs(settled)
  if (!answered) throw requestSettled(draft, requestId)
  const { requestId: _r, messageId, by: _b, ...given } = answered
  if (canonicalJson(given) !== canonicalJson(answer)) throw requestSettled(draft, requestId)
  return { answer: { messageId, seq: settled.seq } }
}

/** With the winner, but not with what was answered: errors hold no payloads. */
const requestSettled = (draft: Draft, requestId: string): Refusal => {
  const { answered, closed } = settledAs(needSettled(draft, requestId))
  return new Refusal('request_settled', `request ${requestId} is not open any more`, {
    members: answered
      ? { requestId, settled: 'answered', messageId: answered.messageId, by: answered.by }
      : { requestId, settled: closed.reason },
  })
}

/** What `always` leaves for later requests. */
const standingRule = (
  { requestId, permission }: EventData<'request.opened'>,
  answer: Answer,
): EventData<'permission.granted'>['rule'] | undefined => {
  if (!permission || !('decision' in answer)) return undefined
  const { action, resources } = permission
  switch (answer.decision) {
    case 'allow_always':
      return { requestId, action, resources, decision: 'allow' }
    case 'reject_always':
      return { requestId, action, resources, decision: 'reject' }
    default:
      return undefined
  }
}
