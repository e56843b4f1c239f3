import type { NewEvent } from '../../schema/events/envelope.ts'
import { anyones, deliver, plainEvents, type PlainEventType } from './plain-model-events.ts'
import {
  closeRequest,
  endTurn,
  isGone,
  openCalls,
  openParts,
  openRequests,
  settle,
  Why,
  type Plain,
  type PlainAct,
  type PlainTurn,
} from './plain-model.ts'

type Of<K extends PlainAct['kind']> = Extract<PlainAct, { kind: K }>

/** What the model says to an act: the session after it, or why it is refused. */
export type PlainVerdict =
  | { readonly kind: 'accepted'; readonly after: Plain; readonly calls?: Record<string, string> }
  | { readonly kind: 'refused'; readonly codes: ReadonlySet<string> }

/**
 * Judges one act on a copy of the session. `told` is the code that the rules refused it with, if they
 * did: where the design leaves it open whether something is refused the model goes along.
 */
export const judge = (before: Plain, act: PlainAct, told: string | undefined): PlainVerdict => {
  const m = structuredClone(before)
  const refused = (...codes: string[]): PlainVerdict => ({ kind: 'refused', codes: new Set(codes) })
  const accepted = (calls?: Record<string, string>): PlainVerdict => ({
    kind: 'accepted',
    after: m,
    ...(calls && { calls }),
  })
  const wrong = (why: Why): PlainVerdict => ({ kind: 'refused', codes: why.must })

  if (act.kind === 'append') {
    // Idempotency comes before every rule.
    const news = act.events.filter((e) => !m.sent.has(e.eventId))
    for (const e of act.events) {
      const there = m.sent.get(e.eventId)
      if (there !== undefined && there !== contentOf(e)) return refused('event_id_reused')
    }
    if (news.length === 0) return accepted()
    if (m.deleted) return refused('session_deleted')
    const why = new Why()
    checkHolder(m, act, news, why)
    if (why.must.size > 0) return wrong(why)
    if (act.expectedSeq !== undefined && act.expectedSeq !== m.head) return refused('expected_seq')
    for (const e of news) {
      if (!anyones.has(e.type) && m.turn?.turnId !== act.turnId) return refused('turn_settled')
      const each = new Why()
      const rule = plainEvents[e.type as PlainEventType]
      const apply = rule(m, e.data as never, each)
      if (each.must.size > 0) return wrong(each)
      if (told !== undefined && each.may.has(told)) return refused(told)
      apply()
      m.sent.set(e.eventId, contentOf(e))
    }
    return accepted()
  }

  if (act.kind === 'restore') {
    if (!m.deleted) return refused('wrong_state')
    m.deleted = false
    return accepted()
  }
  if (m.deleted) return refused('session_deleted')
  const why = new Why()
  const report = perform(m, act, why)
  return why.must.size > 0 ? wrong(why) : accepted(report)
}

/** Does what the command does, if nothing speaks against it; a claim reports its calls. */
const perform = (m: Plain, act: PlainAct, why: Why): Record<string, string> | undefined => {
  const { turn } = m
  switch (act.kind) {
    case 'admit': {
      const { messageId, kind, delivery } = act.event.data as Record<string, string>
      if (why.says(m.messages.has(messageId!), 'duplicate_id')) return undefined
      m.messages.add(messageId!)
      m.inputs.set(messageId!, {
        status: 'waiting',
        delivery: delivery as 'steer' | 'queue',
        kind: kind!,
      })
      return undefined
    }
    case 'change-input':
    case 'cancel-input': {
      const input = m.inputs.get(act.messageId)
      if (why.says(!m.messages.has(act.messageId), 'input_not_found')) return undefined
      if (why.says(input?.status !== 'waiting', 'input_delivered')) return undefined
      if (act.kind === 'cancel-input') input!.status = 'cancelled'
      else input!.delivery = act.delivery
      return undefined
    }
    case 'start-turn': {
      // Rule 4.
      if (why.says(turn !== undefined, 'turn_active')) return undefined
      isCurrent(m, act, why)
      why.says(m.ended.has(act.turnId), 'duplicate_id')
      for (const id of act.inputs) {
        why.says(!m.messages.has(id), 'dangling_reference')
        const waits = m.inputs.get(id)?.status === 'waiting'
        why.says(m.messages.has(id) && !waits, 'input_delivered')
      }
      why.says(new Set(act.inputs).size < act.inputs.length, 'input_delivered')
      if (why.must.size > 0) return undefined
      m.fence += 1
      m.turn = {
        turnId: act.turnId,
        ownerId: act.ownerId,
        incarnation: act.incarnation,
        fence: m.fence,
        released: false,
        interrupt: undefined,
        failures: 0,
        overflow: false,
      }
      for (const id of act.inputs) deliver(m, id)
      return undefined
    }
    case 'claim-turn': {
      const active = activeTurn(m, act.turnId, why)
      if (!active) return undefined
      checkFence(active.fence, act.fromFence, why)
      isCurrent(m, act, why)
      why.says(!isGone(m, active), 'owner_alive')
      if (why.must.size > 0) return undefined
      return takeOver(m, active, act)
    }
    case 'release-turn': {
      const active = activeTurn(m, act.turnId, why)
      if (!active) return undefined
      checkFence(active.fence, act.fence, why)
      why.says(active.released, 'wrong_state')
      if (why.must.size > 0) return undefined
      m.fence += 1
      active.fence = m.fence
      active.released = true
      return undefined
    }
    case 'interrupt-turn': {
      if (act.turnId === undefined && why.says(!turn, 'no_turn')) return undefined
      const active = activeTurn(m, act.turnId ?? turn!.turnId, why)
      if (!active) return undefined
      const due = act.graceMs === undefined ? Infinity : m.now + act.graceMs
      active.interrupt ??= { reason: act.reason, due }
      active.interrupt.due = Math.min(active.interrupt.due, due)
      if (act.graceMs === 0 || isGone(m, active)) endTurn(m, m.fence + 1)
      return undefined
    }
    case 'end-interrupted': {
      const active = activeTurn(m, act.turnId, why)
      if (!active) return undefined
      const isDue = active.interrupt !== undefined && active.interrupt.due <= m.now
      why.says(!active.interrupt || !(isDue || isGone(m, active)), 'wrong_state')
      if (why.must.size === 0) endTurn(m, m.fence + 1)
      return undefined
    }
    case 'fail-turn': {
      const active = activeTurn(m, act.turnId, why)
      if (!active) return undefined
      const isTheirs = active.ownerId === act.ownerId && active.incarnation <= act.incarnation
      why.says(!isTheirs || active.released || !isGone(m, active), 'wrong_state')
      if (why.must.size === 0) endTurn(m, m.fence + 1)
      return undefined
    }
    case 'answer-request':
      answer(m, act, why)
      return undefined
    case 'close-request': {
      const request = m.requests.get(act.requestId)
      if (why.says(!request, 'request_not_found')) return undefined
      const said = [act.reason, act.messageId].join(' ').trim()
      if (request!.status !== 'open') {
        why.says(request!.said !== said, 'request_settled')
        return undefined
      }
      const { messageId } = act
      const isMissing = messageId !== undefined && !m.messages.has(messageId)
      if (why.says(isMissing, 'dangling_reference')) return undefined
      closeRequest(request!, said)
      callOf(m, act.requestId)
      return undefined
    }
    case 'expire-requests':
      for (const [id, request] of openRequests(m)) {
        if (request.expiresAt === undefined || request.expiresAt > m.now) continue
        closeRequest(request, 'expired')
        callOf(m, id)
      }
      return undefined
    case 'revoke-permission':
      why.says(!m.standing.has(act.requestId), 'permission_not_found')
      return undefined
    case 'delete':
      if (turn) endTurn(m, turn.fence)
      m.deleted = true
      return undefined
    default:
      throw new Error(`the model does not know ${act.kind}`)
  }
}

/** Rule 5, in its order; the first reason is the only one. */
const checkHolder = (m: Plain, act: Of<'append'>, events: readonly NewEvent[], why: Why): void => {
  const { turn } = m
  const { turnId, fence } = act
  if (turnId === undefined || fence === undefined) {
    if (events.every((e) => anyones.has(e.type))) return
    why.says(turn !== undefined, 'fence_required')
    why.says(turn === undefined, 'no_turn')
    return
  }
  const last = turn?.turnId === turnId ? turn.fence : m.ended.get(turnId)
  if (last === undefined) return void why.must.add('no_turn')
  if (fence < last) return void why.must.add('fenced')
  // A fence that was never given out, and that of a turn that was given up, are nobody's.
  why.says(fence > last, 'wrong_state')
  why.says(turn?.turnId === turnId && turn.released, 'wrong_state')
  why.says(turn?.turnId !== turnId, 'turn_settled')
}

const checkFence = (current: number, given: number, why: Why): void => {
  why.says(given < current, 'fenced')
  why.says(given > current, 'wrong_state')
}

const activeTurn = (m: Plain, turnId: string, why: Why): PlainTurn | undefined => {
  if (m.turn?.turnId === turnId) return m.turn
  why.must.add(m.ended.has(turnId) ? 'turn_settled' : 'turn_not_found')
  return undefined
}

const isCurrent = (m: Plain, act: { ownerId: string; incarnation: number }, why: Why): void => {
  const owner = m.owners.get(act.ownerId)
  if (why.says(!owner, 'owner_not_found')) return
  why.says(act.incarnation < owner!.incarnation, 'owner_superseded')
  why.says(act.incarnation > owner!.incarnation, 'wrong_state')
  why.says(owner!.ended, 'owner_exited')
  why.says(owner!.lost && !owner!.ended, 'owner_lapsed')
}

/** Rules 7, 11 and 18. */
const takeOver = (m: Plain, turn: PlainTurn, act: Of<'claim-turn'>): Record<string, string> => {
  const now: Record<string, string> = {}
  for (const call of openCalls(m)) {
    const runs = call.child !== undefined && m.running.has(call.child)
    const stays =
      call.status === 'streamed' ||
      call.request !== undefined ||
      call.answer !== undefined ||
      (call.status === 'called' && !call.provider) ||
      (call.status === 'dispatched' && !call.provider && runs)
    if (call.status === 'streaming') settle(call, 'cancelled')
    else if (!stays && (call.provider || call.effect === 'once')) settle(call, 'unknown')
    else if (!stays) call.status = 'called'
    if (call.answer === 'allow_once') call.isVoid = true
    now[call.callId] =
      call.status === 'settled'
        ? call.outcome!
        : call.request === undefined
          ? call.status
          : 'waiting'
  }
  for (const part of openParts(m)) part.open = false
  for (const id of m.compactions.keys()) m.compactions.set(id, 'closed')
  for (const id of m.epochs.keys()) m.epochs.set(id, 'closed')
  if (m.step && openCalls(m).length === 0) {
    m.step = undefined
    turn.failures += 1
  } else if (m.step) m.step.inherited = true
  m.fence += 1
  turn.fence = m.fence
  turn.ownerId = act.ownerId
  turn.incarnation = act.incarnation
  turn.released = false
  return now
}

/** Rule 17. */
const answer = (m: Plain, act: Of<'answer-request'>, why: Why): void => {
  const request = m.requests.get(act.requestId)
  if (why.says(!request, 'request_not_found')) return
  const said = JSON.stringify(act.answer)
  if (request!.status !== 'open') {
    why.says(request!.said !== said, 'request_settled')
    return
  }
  if (why.says(m.messages.has(act.messageId), 'duplicate_id')) return
  m.messages.add(act.messageId)
  request!.status = 'answered'
  request!.said = said
  const decision = 'decision' in act.answer ? act.answer.decision : true
  if (decision === 'allow_always' || decision === 'reject_always') m.standing.add(act.requestId)
  const call = callOf(m, act.requestId)
  if (call) call.answer = decision
}

/** The call that waited for this request, which it does no longer. */
const callOf = (m: Plain, requestId: string) => {
  const call = openCalls(m).find((c) => c.request === requestId)
  if (call) call.request = undefined
  return call
}

const contentOf = ({ type, data }: NewEvent): string => JSON.stringify([type, data])
