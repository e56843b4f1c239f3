import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import {
  entryOf,
  withEntry,
  withMembers,
  withoutEntry,
  type OpenCall,
  type OpenRequest,
} from '../session-state.ts'
import { bring, lookup, messageName, requestName, type Draft } from './draft.ts'
import { needCall, needMessage, setCall } from './part-rules.ts'
import { anyTime, type RulesOf } from './rule.ts'
import { needStep } from './step-rules.ts'

type RequestEvent = Extract<EventType, `request.${string}` | `permission.${string}`>

export const requestRules: RulesOf<RequestEvent> = {
  'request.opened': (draft, data) => {
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
      setCall(draft, step, data.callId, { ...call, requestId: data.requestId })
    } else if (data.messageId !== undefined) needMessage(draft, data.messageId)
    const request: OpenRequest = {
      kind: data.kind,
      ...(data.messageId !== undefined && { messageId: data.messageId }),
      ...(data.callId !== undefined && { callId: data.callId }),
    }
    draft.state = withMembers(draft.state, {
      requests: withEntry(draft.state.requests, data.requestId, request),
    })
  },
  'request.answered': (draft, data) => {
    const request = needOpen(draft, data.requestId)
    bring(draft, messageName(data.messageId))
    settle(draft, data.requestId, request, true)
  },
  'request.closed': (draft, data) => {
    settle(draft, data.requestId, needOpen(draft, data.requestId), false)
  },
  'permission.granted': anyTime,
  'permission.revoked': anyTime,
}

const needOpen = (draft: Draft, requestId: string): OpenRequest => {
  const request = entryOf(draft.state.requests, requestId)
  if (request) return request
  if (lookup(draft, requestName(requestId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no request ${requestId}`)
  }
  throw new Refusal('wrong_state', `request ${requestId} is not open any more`)
}

const settle = (draft: Draft, requestId: string, request: OpenRequest, answered: boolean): void => {
  draft.state = withMembers(draft.state, {
    requests: withoutEntry(draft.state.requests, requestId),
  })
  const step = draft.state.step
  if (request.callId === undefined || step?.messageId !== request.messageId || !step) return
  const call = entryOf(step.calls, request.callId)
  if (call?.requestId !== requestId) return
  const { requestId: _, ...rest } = call
  const settled: OpenCall = answered ? { ...rest, answered: true } : rest
  setCall(draft, step, request.callId, settled)
}
