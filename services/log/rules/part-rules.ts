import { Refusal } from '../../../schema/errors.ts'
import type { EventData, EventType } from '../../../schema/events/event-table.ts'
import { entryOf, withEntry, withoutEntry, type OpenCall, type OpenStep } from '../session-state.ts'
import { bring, lookup, lookupAny, note, type Draft } from './draft.ts'
import { checkEffect, noteEffectOf } from './effects.ts'
import { dropUnknown, keepUnknown } from './unknown-calls.ts'
import {
  effectName,
  keyedCallName,
  messageName,
  partName,
  resolvedCallName,
  unknownCallName,
} from './names.ts'
import type { RulesOf } from './rule.ts'
import { forgetFailures, mostAttempts, needStep, needTakingStep, setStep } from './step-rules.ts'

type PartEvent = Extract<
  EventType,
  `text.${string}` | `reasoning.${string}` | `tool.${string}` | 'part.excluded' | 'part.included'
>

export const partRules: RulesOf<PartEvent> = {
  'text.started': (draft, data) => startPart(draft, data.messageId, data.partId, 'text'),
  'text.ended': (draft, data) => endPart(draft, data, 'text'),
  'reasoning.started': (draft, data) => startPart(draft, data.messageId, data.partId, 'reasoning'),
  'reasoning.ended': (draft, data) => endPart(draft, data, 'reasoning'),
  'tool.input.started': (draft, data) => {
    const step = needTakingStep(draft, data.messageId)
    bring(draft, partName(step.messageId, step.attempt, data.callId))
    setCall(draft, step, data.callId, { status: 'streaming' })
  },
  'tool.input.ended': (draft, data) => {
    const step = needStep(draft, data.messageId)
    const call = entryOf(step.calls, data.callId)
    if (!call) bringPart(draft, step, data.callId)
    else if (call.status !== 'streaming') {
      throw new Refusal('wrong_state', `the input of call ${data.callId} has ended`)
    }
    setCall(draft, step, data.callId, { status: 'streamed' })
  },
  // Rule 10: recorded before it is dispatched.
  'tool.called': (draft, data) => {
    const step = needStep(draft, data.messageId)
    const call = entryOf(step.calls, data.callId)
    if (!call) bringPart(draft, step, data.callId)
    else if (call.status === 'called' || call.status === 'dispatched') {
      throw new Refusal('wrong_state', `call ${data.callId} is called already`)
    }
    const isKeyed = data.effect === 'once' && data.effectKey !== undefined
    if (isKeyed) {
      checkEffect(draft, data.effectKey!, data.repeats, data)
      note(draft, keyedCallName(data.messageId, data.callId))
    }
    const provider = data.executedBy === 'provider'
    // What a provider runs is under way with its call.
    if (isKeyed && provider) note(draft, effectName(data.effectKey!))
    setCall(draft, provider ? vetoed(step, data) : step, data.callId, {
      status: 'called',
      effect: data.effect,
      ...(provider && { provider: true as const }),
      ...(isKeyed && { effectKey: data.effectKey! }),
      ...(isKeyed && data.repeats !== undefined && { repeats: data.repeats }),
      ...(data.childSessionId !== undefined && { childSessionId: data.childSessionId }),
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
    if (call.answered === 'reject_once' || call.answered === 'reject_always') {
      throw new Refusal('wrong_state', `call ${data.callId} was not allowed`)
    }
    if (call.void) {
      throw new Refusal(
        'wrong_state',
        `call ${data.callId} was allowed once, to an owner before: it is asked for again`,
      )
    }
    if (call.effectKey !== undefined) {
      checkEffect(draft, call.effectKey, call.repeats, data)
      note(draft, effectName(call.effectKey))
    }
    // What was answered is used here.
    const { answered: _, closed: _closed, ...rest } = call
    const effect = { effect: call.effect ?? 'once', callId: data.callId }
    setCall(draft, vetoed(step, effect), data.callId, { ...rest, status: 'dispatched' })
  },
  // Rule 10: settles once, and `ok` needs something that can have made it so.
  'tool.settled': (draft, data, derived) => {
    const step = needStep(draft, data.messageId)
    const call = needCall(draft, step, data.callId)
    const mayBeOk = call.status === 'dispatched' || call.answered === true || call.provider
    if (data.outcome === 'ok' && !mayBeOk) {
      throw new Refusal('wrong_state', `call ${data.callId} was never dispatched: it cannot be ok`)
    }
    // An import may settle a call again: the name then leads to the end that counts.
    if (data.outcome === 'unknown' || draft.importing)
      note(draft, unknownCallName(data.messageId, data.callId))
    if (call.effectKey !== undefined && (call.status === 'dispatched' || call.provider)) {
      noteEffectOf(draft, call.effectKey, data)
    }
    const calls = withoutEntry(step.calls, data.callId)
    setStep(draft, omitUndefined({ ...step, calls }))
    if (!derived) forgetFailures(draft)
    if (data.outcome === 'unknown') keepUnknown(draft, data.messageId, data.callId)
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
    dropUnknown(draft, data.messageId, data.callId)
    const keyed = lookup(draft, keyedCallName(data.messageId, data.callId))
    const { effectKey } = (keyed?.data ?? {}) as Partial<EventData<'tool.called'>>
    // Found out of this end, and not of a later call, in another attempt too.
    const isLast = effectKey !== undefined && lookup(draft, effectName(effectKey))?.seq === end!.seq
    if (isLast) note(draft, effectName(effectKey))
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
  const step = needTakingStep(draft, messageId)
  bring(draft, partName(messageId, step.attempt, partId))
  setStep(draft, { ...step, parts: withEntry(step.parts, partId, kind) })
}

const endPart = (draft: Draft, ended: EventData<'text.ended'>, kind: TextKind): void => {
  const { messageId, partId } = ended
  const found = needStep(draft, messageId)
  const step = ended.mustStay ? { ...found, veto: found.veto ?? { partId } } : found
  const open = entryOf(step.parts, partId)
  // A host that has only whole parts writes only the end.
  if (open === undefined) bringPart(draft, step, partId)
  else if (open !== kind) throw new Refusal('wrong_state', `part ${partId} is ${open}, not ${kind}`)
  setStep(draft, omitUndefined({ ...step, parts: withoutEntry(step.parts, partId) }))
}

/** A part that appears with its end, or a call with its input. */
const bringPart = (draft: Draft, { messageId, attempt }: OpenStep, partId: string): void => {
  needTakingStep(draft, messageId)
  bring(draft, partName(messageId, attempt, partId))
}

/** Rule 13: what was done once forbids another attempt. */
const vetoed = (step: OpenStep, call: { effect: string; callId: string }): OpenStep =>
  call.effect === 'once' ? { ...step, veto: step.veto ?? { callId: call.callId } } : step

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
