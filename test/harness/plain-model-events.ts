import type { EventData, EventType } from '../../schema/events/event-table.ts'
import {
  closeRequest,
  closeStepContent,
  endTurn,
  isTaken,
  openCalls,
  openParts,
  openRequests,
  settle,
  type Plain,
  type PlainCall,
  type Why,
} from './plain-model.ts'

/** Says why an event is refused, or what it does. */
type PlainRule<T extends EventType> = (m: Plain, data: EventData<T>, why: Why) => () => void

const nothing = (): void => {}

/** The events that hosts write in the trial; what they need and do by rules 2 and 7 to 19. */
export const plainEvents = {
  'step.started': (m, { messageId, attempt }, why) => {
    why.says(m.step !== undefined || attempt !== 1, 'wrong_state')
    why.says(m.messages.has(messageId), 'duplicate_id')
    why.says(m.turn!.failures >= 5, 'attempts_spent')
    return () => {
      m.messages.add(messageId)
      m.step = { messageId, attempt: 1, finish: undefined, inherited: false, mustStay: false }
    }
  },
  'step.retried': (m, { messageId, attempt }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    const step = m.step!
    why.says(attempt !== step.attempt + 1, 'wrong_state')
    const ranOnce = m.calls.some(
      (c) =>
        c.messageId === messageId && c.attempt === step.attempt && c.effect === 'once' && c.ran > 0,
    )
    why.says(ranOnce || step.mustStay, 'replay_vetoed')
    why.says(m.turn!.failures + 1 >= 5, 'attempts_spent')
    return () => {
      for (const [, request] of openRequests(m)) {
        if (request.messageId === messageId) closeRequest(request, 'superseded')
      }
      closeStepContent(m)
      m.turn!.failures += 1
      m.step = { messageId, attempt, finish: undefined, inherited: false, mustStay: false }
    }
  },
  'step.streamed': (m, { messageId, finish }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    why.says(m.step!.inherited, 'wrong_state')
    return () => (m.step!.finish = finish)
  },
  'step.ended': (m, { messageId, finish }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    const known = ['stop', 'tool-calls', 'length', 'content-filter', 'refusal']
    why.says(finish === undefined || !known.includes(finish), 'incomplete_stream')
    why.says(openCalls(m).length > 0, 'open_tool_calls')
    why.says(openParts(m).length > 0, 'wrong_state')
    const { inherited, finish: streamed } = m.step!
    why.says(inherited && finish !== (streamed ?? 'tool-calls'), 'wrong_state')
    return () => {
      m.step = undefined
      m.turn!.failures = 0
      m.futile = false
    }
  },
  'step.failed': (m, { messageId }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    return () => {
      for (const [, request] of openRequests(m)) {
        const isOfCall = request.callId !== undefined && request.messageId === messageId
        if (isOfCall) closeRequest(request, 'cancelled')
      }
      closeStepContent(m)
      m.step = undefined
      m.turn!.failures += 1
    }
  },
  'text.started': (m, data, why) => startPart(m, data, 'text', why),
  'reasoning.started': (m, data, why) => startPart(m, data, 'reasoning', why),
  'text.ended': (m, data, why) => endPart(m, data, 'text', why),
  'reasoning.ended': (m, data, why) => endPart(m, data, 'reasoning', why),
  'tool.input.started': (m, { messageId, callId }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    isNew(m, callId, why)
    return () => newCall(m, callId).status
  },
  'tool.input.ended': (m, { messageId, callId }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    const call = openCall(m, callId)
    if (call) why.says(call.status !== 'streaming', 'wrong_state')
    else isNew(m, callId, why)
    return () => ((call ?? newCall(m, callId)).status = 'streamed')
  },
  'tool.called': (m, data, why) => {
    const { messageId, callId, effect, effectKey, repeats, executedBy, childSessionId } = data
    if (!hasStep(m, messageId, why)) return nothing
    const known = openCall(m, callId)
    if (known) why.says(known.status === 'called' || known.status === 'dispatched', 'wrong_state')
    else isNew(m, callId, why)
    const key = effect === 'once' ? effectKey : undefined
    if (key !== undefined) mayHaveEffect(m, key, repeats, undefined, why)
    return () => {
      const call = known ?? newCall(m, callId)
      call.status = 'called'
      call.effect = effect
      call.key = key
      call.repeats = repeats
      call.child = childSessionId
      call.provider = executedBy === 'provider'
      if (call.provider) run(m, call)
    }
  },
  'tool.dispatched': (m, { messageId, callId }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    const call = needCall(m, callId, why)
    if (!call) return nothing
    why.says(call.status !== 'called' || call.request !== undefined, 'wrong_state')
    why.says(call.answer === 'reject_once' || call.answer === 'reject_always', 'wrong_state')
    why.says(call.isVoid, 'wrong_state')
    if (call.key !== undefined) mayHaveEffect(m, call.key, call.repeats, call, why)
    return () => {
      call.status = 'dispatched'
      call.answer = undefined
      run(m, call)
    }
  },
  'tool.settled': (m, { messageId, callId, outcome }, why) => {
    if (!hasStep(m, messageId, why)) return nothing
    const call = needCall(m, callId, why)
    if (!call) return nothing
    const mayBeOk = call.status === 'dispatched' || call.answer === true || call.provider
    why.says(outcome === 'ok' && !mayBeOk, 'wrong_state')
    return () => {
      const request = call.request === undefined ? undefined : m.requests.get(call.request)
      if (request) closeRequest(request, 'cancelled')
      call.request = undefined
      settle(call, outcome)
      m.turn!.failures = 0
    }
  },
  'tool.resolved': (m, { messageId, callId, outcome }, why) => {
    const ends = m.calls.filter((c) => c.messageId === messageId && c.callId === callId)
    const unknown = ends.findLast((c) => c.outcome === 'unknown')
    if (!unknown) {
      const isThere = [...m.parts.map((p) => ({ ...p, callId: p.partId })), ...m.calls].some(
        (p) => p.messageId === messageId && p.callId === callId,
      )
      why.must.add(isThere ? 'wrong_state' : 'dangling_reference')
      return nothing
    }
    why.says(unknown.resolved !== undefined, 'wrong_state')
    return () => (unknown.resolved = outcome)
  },
  'request.opened': (m, { requestId, kind, messageId, callId, expiresAt }, why) => {
    why.says(m.requests.has(requestId), 'duplicate_id')
    let call: PlainCall | undefined
    if (callId !== undefined) {
      if (hasStep(m, messageId!, why)) call = needCall(m, callId, why)
      const mayAsk = call?.status === 'called' || call?.status === 'dispatched'
      why.says(call !== undefined && (!mayAsk || call.request !== undefined), 'wrong_state')
    } else if (messageId !== undefined) why.says(!m.messages.has(messageId), 'dangling_reference')
    return () => {
      m.requests.set(requestId, {
        kind,
        messageId,
        callId,
        expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt),
        status: 'open',
        said: undefined,
      })
      if (!call) return
      call.request = requestId
      call.answer = undefined
      call.isVoid = false
    }
  },
  'compaction.started': (m, { compactionId, messageId, reason }, why) => {
    why.says(reason === 'overflow' && m.turn!.overflow, 'overflow_recovery_spent')
    why.says(reason !== 'manual' && m.futile, 'compaction_futile')
    why.says(m.compactions.has(compactionId) || m.messages.has(messageId), 'duplicate_id')
    return () => {
      m.compactions.set(compactionId, 'open')
      m.messages.add(messageId)
      if (reason === 'overflow') m.turn!.overflow = true
    }
  },
  'compaction.ended': (m, { compactionId, tokensBefore, tokensAfter }, why) => {
    isOpen(m.compactions, compactionId, why)
    return () => {
      m.compactions.set(compactionId, 'closed')
      m.futile = tokensAfter >= tokensBefore
    }
  },
  'epoch.opened': (m, { epochId }, why) => {
    why.says(m.epochs.has(epochId), 'duplicate_id')
    return () => m.epochs.set(epochId, 'open')
  },
  'epoch.sealed': (m, { epochId }, why) => {
    isOpen(m.epochs, epochId, why)
    return () => m.epochs.set(epochId, 'closed')
  },
  'input.delivered': (m, { messageId, turnId }, why) => {
    const input = m.inputs.get(messageId)
    why.says(!m.messages.has(messageId), 'dangling_reference')
    why.says(m.messages.has(messageId) && input?.status !== 'waiting', 'input_delivered')
    why.says(input?.delivery === 'queue' || turnId !== m.turn?.turnId, 'wrong_state')
    return () => deliver(m, messageId)
  },
  'turn.ended': (m, { turnId, fence }, why) => {
    const isTheirs = turnId === m.turn!.turnId
    why.says(!isTheirs && m.ended.has(turnId), 'turn_settled')
    why.says(!isTheirs && !m.ended.has(turnId), 'dangling_reference')
    why.says(fence !== m.turn!.fence, 'wrong_state')
    return () => endTurn(m, fence)
  },
  'note.added': (m, { messageId }, why) => {
    why.says(m.messages.has(messageId), 'duplicate_id')
    return () => {
      m.messages.add(messageId)
      m.futile = false
    }
  },
  'session.renamed': () => nothing,
} as const satisfies { [T in EventType]?: PlainRule<T> }

export type PlainEventType = keyof typeof plainEvents

/** What anybody may write, without turn and fence. */
export const anyones: ReadonlySet<string> = new Set([
  'tool.resolved',
  'note.added',
  'session.renamed',
])

export const deliver = (m: Plain, messageId: string): void => {
  m.inputs.get(messageId)!.status = 'delivered'
  m.futile = false
}

/** Rule 2: the step is there and open. */
const hasStep = (m: Plain, messageId: string, why: Why): boolean => {
  const isOpenStep = m.step?.messageId === messageId
  why.says(!isOpenStep && !m.messages.has(messageId), 'dangling_reference')
  why.says(!isOpenStep && m.messages.has(messageId), 'wrong_state')
  return isOpenStep
}

const isNew = (m: Plain, id: string, why: Why): void => {
  const { messageId, attempt, inherited } = m.step!
  why.says(inherited, 'wrong_state')
  why.says(isTaken(m, messageId, attempt, id), 'duplicate_id')
}

const openCall = (m: Plain, callId: string): PlainCall | undefined =>
  openCalls(m).find((c) => c.callId === callId)

const needCall = (m: Plain, callId: string, why: Why): PlainCall | undefined => {
  const call = openCall(m, callId)
  const isThere = isTaken(m, m.step!.messageId, m.step!.attempt, callId)
  why.says(!call && !isThere, 'dangling_reference')
  why.says(!call && isThere, 'wrong_state')
  return call
}

const newCall = (m: Plain, callId: string): PlainCall => {
  const { messageId, attempt } = m.step!
  const call: PlainCall = {
    messageId,
    attempt,
    callId,
    status: 'streaming',
    effect: undefined,
    provider: false,
    key: undefined,
    repeats: undefined,
    child: undefined,
    ran: 0,
    request: undefined,
    answer: undefined,
    isVoid: false,
    outcome: undefined,
    resolved: undefined,
  }
  m.calls.push(call)
  return call
}

const run = (m: Plain, call: PlainCall): void => {
  call.ran = Math.max(0, ...m.calls.map((c) => c.ran)) + 1
}

/**
 * Rule 10. Of a repetition of what is not the last call of that effect the design says nothing, nor
 * of an effect that nobody has had although the last call said that it repeats one.
 */
const mayHaveEffect = (
  m: Plain,
  key: string,
  repeats: string | undefined,
  self: PlainCall | undefined,
  why: Why,
): void => {
  const ran = m.calls
    .filter((c) => c.key === key && c.ran > 0 && c !== self)
    .toSorted((a, b) => a.ran - b.ran)
  const had = ran.filter((c) =>
    ['ok', 'unknown', 'under way'].includes(c.resolved ?? c.outcome ?? 'under way'),
  )
  const last = ran.at(-1)
  if (last === undefined || last.callId === repeats) return
  const isNamed = ran.some((c) => c.callId === repeats)
  why.says(had.length > 0 && !isNamed, 'effect_repeated')
  why.maySay(isNamed || last.repeats !== undefined, 'effect_repeated')
}

const startPart = (
  m: Plain,
  { messageId, partId }: EventData<'text.started'>,
  kind: 'text' | 'reasoning',
  why: Why,
) => {
  if (!hasStep(m, messageId, why)) return nothing
  isNew(m, partId, why)
  const { attempt } = m.step!
  return () => void m.parts.push({ messageId, attempt, partId, kind, open: true })
}

const endPart = (
  m: Plain,
  { messageId, partId, mustStay }: EventData<'text.ended'>,
  kind: 'text' | 'reasoning',
  why: Why,
) => {
  if (!hasStep(m, messageId, why)) return nothing
  const { attempt } = m.step!
  const part = openParts(m).find((p) => p.partId === partId)
  if (part) why.says(part.kind !== kind, 'wrong_state')
  else isNew(m, partId, why)
  return () => {
    if (part) part.open = false
    else m.parts.push({ messageId, attempt, partId, kind, open: false })
    if (mustStay) m.step!.mustStay = true
  }
}

const isOpen = (things: ReadonlyMap<string, string>, id: string, why: Why): void => {
  why.says(!things.has(id), 'dangling_reference')
  why.says(things.get(id) === 'closed', 'wrong_state')
}
