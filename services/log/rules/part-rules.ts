import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import { entryOf, withEntry, withoutEntry, type OpenCall, type OpenStep } from '../session-state.ts'
import {
  bring,
  lookup,
  lookupAny,
  messageName,
  note,
  partName,
  resolvedCallName,
  unknownCallName,
  type Draft,
} from './draft.ts'
import type { RulesOf } from './rule.ts'
import { mostAttempts, needStep, setStep } from './step-rules.ts'

type PartEvent = Extract<
  EventType,
  `text.${string}` | `reasoning.${string}` | `tool.${string}` | 'part.excluded' | 'part.included'
>

export const partRules: RulesOf<PartEvent> = {
  'text.started': (draft, data) => startPart(draft, data.messageId, data.partId, 'text'),
  'text.ended': (draft, data) => endPart(draft, data.messageId, data.partId, 'text'),
  'reasoning.started': (draft, data) => startPart(draft, data.messageId, data.partId, 'reasoning'),
  'reasoning.ended': (draft, data) => endPart(draft, data.messageId, data.partId, 'reasoning'),
  'tool.input.started': (draft, data) => {
    const step = needStep(draft, data.messageId)
    bring(draft, partName(step.messageId, step.attempt, data.callId))
    setCall(draft, step, data.callId, { status: 'streaming' })
  },
  'tool.input.ended': (draft, data) => {
    const step = needStep(draft, data.messageId)
    const call = entryOf(step.calls, data.callId)
    if (!call) bring(draft, partName(step.messageId, step.attempt, data.callId))
    else if (call.status !== 'streaming') {
      throw new Refusal('wrong_state', `the input of call ${data.callId} has ended`)
    }
    setCall(draft, step, data.callId, { status: 'streamed' })
  },
  // Rule 10: recorded before it is dispatched.
  'tool.called': (draft, data) => {
    const step = needStep(draft, data.messageId)
    const call = entryOf(step.calls, data.callId)
    if (!call) bring(draft, partName(step.messageId, step.attempt, data.callId))
    else if (call.status === 'called' || call.status === 'dispatched') {
      throw new Refusal('wrong_state', `call ${data.callId} is called already`)
    }
    setCall(draft, step, data.callId, {
      status: 'called',
      effect: data.effect,
      ...(data.executedBy === 'provider' && { provider: true as const }),
    })
  },
  'tool.dispatched': (draft, data) => {
    const step = needStep(draft, data.messageId)
    const call = needCall(draft, step, data.callId)
    if (call.status !== 'called') {
      throw new Refusal('wrong_state', `call ${data.callId} is ${call.status}, not called`)
    }
    if (call.requestId !== undefined) {
      throw new Refusal('wrong_state', `call ${data.callId} waits for request ${call.requestId}`)
    }
    setCall(draft, step, data.callId, { ...call, status: 'dispatched' })
  },
  // Rule 10: settles once, and `ok` needs something that can have made it so.
  'tool.settled': (draft, data) => {
    const step = needStep(draft, data.messageId)
    const call = needCall(draft, step, data.callId)
    if (data.outcome === 'ok' && call.status !== 'dispatched' && !call.answered && !call.provider) {
      throw new Refusal('wrong_state', `call ${data.callId} was never dispatched: it cannot be ok`)
    }
    // An import may settle a call again: the name then leads to the end that counts.
    if (data.outcome === 'unknown' || draft.importing)
      note(draft, unknownCallName(data.messageId, data.callId))
    const calls = withoutEntry(step.calls, data.callId)
    setStep(draft, omitUndefined({ ...step, calls }))
  },
  'tool.resolved': (draft, data) => {
    const end = lookup(draft, unknownCallName(data.messageId, data.callId))
    const outcome = (end?.data as { outcome?: string } | undefined)?.outcome
    if (outcome !== 'unknown') {
      if (!end && !hasPart(draft, data.messageId, data.callId))
        throw noPart(data.messageId, data.callId)
      throw new Refusal('wrong_state', `call ${data.callId} did not settle as unknown`)
    }
    // A call id may end as unknown in several attempts: each such end is resolved once.
    const resolved = lookup(draft, resolvedCallName(data.messageId, data.callId))
    if (resolved !== undefined && resolved.seq > end!.seq) {
      throw new Refusal('wrong_state', `call ${data.callId} is resolved already`)
    }
    note(draft, resolvedCallName(data.messageId, data.callId))
  },
  'part.excluded': (draft, data) => {
    if (!hasPart(draft, data.messageId, data.partId)) throw noPart(data.messageId, data.partId)
  },
  'part.included': (draft, data) => {
    if (!hasPart(draft, data.messageId, data.partId)) throw noPart(data.messageId, data.partId)
  },
}

type TextKind = 'text' | 'reasoning'

const startPart = (draft: Draft, messageId: string, partId: string, kind: TextKind): void => {
  const step = needStep(draft, messageId)
  bring(draft, partName(messageId, step.attempt, partId))
  setStep(draft, { ...step, parts: withEntry(step.parts, partId, kind) })
}

const endPart = (draft: Draft, messageId: string, partId: string, kind: TextKind): void => {
  const step = needStep(draft, messageId)
  const open = entryOf(step.parts, partId)
  if (open === undefined) {
    // A host that has only whole parts writes only the end.
    bring(draft, partName(messageId, step.attempt, partId))
    return
  }
  if (open !== kind) throw new Refusal('wrong_state', `part ${partId} is ${open}, not ${kind}`)
  setStep(draft, omitUndefined({ ...step, parts: withoutEntry(step.parts, partId) }))
}

export const setCall = (draft: Draft, step: OpenStep, callId: string, call: OpenCall): void =>
  setStep(draft, { ...step, calls: withEntry(step.calls, callId, call) })

export const needCall = (draft: Draft, step: OpenStep, callId: string): OpenCall => {
  const call = entryOf(step.calls, callId)
  if (call) return call
  if (lookup(draft, partName(step.messageId, step.attempt, callId)) === undefined) {
    throw new Refusal('dangling_reference', `step ${step.messageId} has no call ${callId}`)
  }
  throw new Refusal('wrong_state', `call ${callId} has settled`)
}

const hasPart = (draft: Draft, messageId: string, partId: string): boolean => {
  const names = Array.from({ length: mostAttempts }, (_, n) => partName(messageId, n + 1, partId))
  return lookupAny(draft, names)
}

const noPart = (messageId: string, partId: string): Refusal =>
  new Refusal('dangling_reference', `message ${messageId} has no part ${partId}`)

const omitUndefined = (step: {
  [K in keyof OpenStep]: OpenStep[K] | undefined
}): OpenStep => {
  const next = { ...step }
  if (next.parts === undefined) delete next.parts
  if (next.calls === undefined) delete next.calls
  return next as OpenStep
}

/** Whether the message is there at all; for facts that name a message outside a step. */
export const needMessage = (draft: Draft, messageId: string): void => {
  if (draft.state.step?.messageId === messageId) return
  if (lookup(draft, messageName(messageId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no message ${messageId}`)
  }
}
