import { Refusal } from '../../../schema/errors.ts'
import type { EventData, EventType } from '../../../schema/events/event-table.ts'
import { isInstant } from '../is-instant.ts'
import {
  entryOf,
  withEntry,
  withMembers,
  withoutEntry,
  type OpenCall,
  type OpenRequest,
} from '../session-state.ts'
import { bring, lookup, note, type Draft } from './draft.ts'
import {
  messageName,
  permissionName,
  requestName,
  revokedName,
  settledRequestName,
} from './names.ts'
import { needCall, needMessage, setCall } from './part-rules.ts'
import type { RulesOf } from './rule.ts'
import { needStep } from './step-rules.ts'

/** Keeps the state small: what is open is in it. */
const mostOpen = 64

type RequestEvent = Extract<EventType, `request.${string}` | `permission.${string}`>

export const requestRules: RulesOf<RequestEvent> = {
  'request.opened': (draft, data) => {
    if (!draft.importing) checkAsked(data)
    if (Object.keys(draft.state.requests ?? {}).length >= mostOpen) {
      throw new Refusal('too_much_open', `${mostOpen} requests are open in this session`)
    }
    bring(draft, requestName(data.requestId))
    if (data.callId !== undefined) {
      if (data.messageId === undefined) {
        throw new Refusal('invalid_body', 'a request that names a call names its message too', {
          faults: [{ pointer: '/messageId', detail: 'must be there when callId is' }],
        })
      }
      const step = needStep(draft, data.messageId)
      const call = needCall(draft, step, data.callId)
      if (call.status !== 'called' && call.status !== 'dispatched') {
        throw new Refusal('wrong_state', `call ${data.callId} is ${call.status}, not called`)
      }
      if (call.requestId !== undefined) {
        throw new Refusal('wrong_state', `call ${data.callId} waits for request ${call.requestId}`)
      }
      // What is said now counts, and nothing that was said before.
      const { answered: _answered, void: _void, closed: _closed, ...rest } = call
      setCall(draft, step, data.callId, { ...rest, requestId: data.requestId })
    } else if (data.messageId !== undefined) needMessage(draft, data.messageId)
    const request: OpenRequest = {
      kind: data.kind,
      ...(data.messageId !== undefined && { messageId: data.messageId }),
      ...(data.callId !== undefined && { callId: data.callId }),
      ...(data.expiresAt !== undefined && { expiresAt: data.expiresAt }),
    }
    draft.state = withMembers(draft.state, {
      requests: withEntry(draft.state.requests, data.requestId, request),
    })
  },
  'request.answered': (draft, data) => {
    const request = needOpen(draft, data.requestId)
    bring(draft, messageName(data.messageId))
    note(draft, settledRequestName(data.requestId))
    removeRequest(draft, data.requestId)
    if (!draft.state.turn) {
      const answers = withEntry(draft.state.answers, data.requestId, request)
      draft.state = withMembers(draft.state, { answers })
    }
    moveCall(draft, data.requestId, request, { answered: data.decision ?? true })
  },
  'request.closed': (draft, data) => {
    const request = needOpen(draft, data.requestId)
    if (data.messageId !== undefined) needMessage(draft, data.messageId)
    note(draft, settledRequestName(data.requestId))
    removeRequest(draft, data.requestId)
    moveCall(draft, data.requestId, request, { closed: data.reason })
  },
  'permission.granted': (draft, { rule }) => note(draft, permissionName(rule.requestId)),
  'permission.revoked': (draft, { rule }) => note(draft, revokedName(rule.requestId)),
}

const needOpen = (draft: Draft, requestId: string): OpenRequest => {
  const request = entryOf(draft.state.requests, requestId)
  if (request) return request
  if (lookup(draft, requestName(requestId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no request ${requestId}`)
  }
  throw new Refusal('wrong_state', `request ${requestId} is not open any more`)
}

const removeRequest = (draft: Draft, requestId: string): void => {
  const requests = withoutEntry(draft.state.requests, requestId)
  draft.state = withMembers(draft.state, { requests })
}

/** The request's call waits no longer; what became of the request stays with it until it is used. */
const moveCall = (
  draft: Draft,
  requestId: string,
  request: OpenRequest,
  became: Pick<OpenCall, 'answered' | 'closed'>,
): void => {
  const { step } = draft.state
  if (request.callId === undefined || !step || step.messageId !== request.messageId) return
  const call = entryOf(step.calls, request.callId)
  if (call?.requestId !== requestId) return
  const { requestId: _, ...rest } = call
  setCall(draft, step, request.callId, { ...rest, ...became })
}

/** What is asked must be there, by its kind. */
const checkAsked = (data: EventData<'request.opened'>): void => {
  const { kind, expiresAt } = data
  const member = askedBy[kind]
  const asked = data[member]
  if (asked === undefined || (Array.isArray(asked) && asked.length === 0)) {
    throw new Refusal('invalid_body', `a ${kind} says what it asks in ${member}`, {
      faults: [{ pointer: `/${member}`, detail: `must be there: the kind is ${kind}` }],
    })
  }
  if (expiresAt !== undefined && !isInstant(expiresAt)) {
    throw new Refusal('invalid_body', 'expiresAt is no instant', {
      faults: [{ pointer: '/expiresAt', detail: 'must be a date and time with its offset' }],
    })
  }
}

const askedBy = {
  question: 'questions',
  permission: 'permission',
  elicitation: 'schema',
} as const
