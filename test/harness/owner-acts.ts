import type { NewEvent } from '../../schema/events/envelope.ts'
import type { EventData } from '../../schema/events/event-table.ts'
import type { Act, Answer } from '../../services/log/command.ts'
import { aliveOwner, event, type Rehearsal } from './rehearsal.ts'

/** An append to the first turn under another fence than its first. */
export const underFence = (fence: number, ...events: NewEvent[]): Act => ({
  kind: 'append',
  turnId: 'trn_1',
  fence,
  events,
})

/** From here on the turns of this owner may be claimed, as after a lapsed lease or an exit. */
export const lose = (s: Rehearsal, ownerId = 'own_1'): void =>
  void s.owners.set(ownerId, { ...aliveOwner, lost: true })

export const claim = (fromFence: number, ownerId = 'own_2'): Act => ({
  kind: 'claim-turn',
  turnId: 'trn_1',
  ownerId,
  incarnation: 1,
  fromFence,
  eventId: `evt_claim_${fromFence}_${ownerId}`,
})

/** Takes the first turn over; what the claim reported. */
export const takeOver = (s: Rehearsal, fromFence = 1) => {
  lose(s)
  return s.accept(claim(fromFence)).outcome.turn!.report!
}

export const keyed = (
  callId: string,
  effectKey: string,
  more: Partial<EventData<'tool.called'>> = {},
): NewEvent =>
  event('tool.called', {
    messageId: 'msg_1',
    callId,
    name: 'pay',
    input: {},
    effect: 'once',
    effectKey,
    executedBy: 'host',
    ...more,
  })

type Asked = Partial<EventData<'request.opened'>>

/** Opens a question; of a call if `callId` is given. */
export const ask = (requestId: string, callId?: string, more: Asked = {}): NewEvent =>
  event('request.opened', {
    requestId,
    kind: 'question',
    questions: [{ question: 'which?', options: [] }],
    ...(callId !== undefined && { messageId: 'msg_1', callId }),
    ...more,
  })

/** Asks whether a call is allowed. */
export const askLeave = (requestId: string, callId?: string, more: Asked = {}): NewEvent =>
  event('request.opened', {
    requestId,
    kind: 'permission',
    permission: { action: 'run', resources: ['ls'] },
    ...(callId !== undefined && { messageId: 'msg_1', callId }),
    ...more,
  })

export const by = { subject: 'ann' }

export const answer = (
  requestId: string,
  given: Answer,
  messageId = `msg_of_${requestId}`,
): Act => ({
  kind: 'answer-request',
  requestId,
  messageId,
  answer: given,
  by,
  eventId: `evt_answer_${requestId}_${messageId}`,
})

export const decided = (
  requestId: string,
  decision: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always',
): Act => answer(requestId, { decision })

export const interrupt = (reason: string, graceMs?: number): Act => ({
  kind: 'interrupt-turn',
  turnId: 'trn_1',
  reason,
  by,
  ...(graceMs !== undefined && { graceMs }),
  eventId: `evt_interrupt_${reason}`,
})

export const failed = (kind: EventData<'step.failed'>['error']['kind'] = 'provider'): NewEvent =>
  event('step.failed', { messageId: 'msg_1', error: { kind, message: 'm' } })

export const retried = (attempt: number): NewEvent =>
  event('step.retried', { messageId: 'msg_1', attempt, error: { kind: 'provider', message: 'm' } })

/** Sets the database's clock (ms). */
export const setClock = (s: Rehearsal, ms: number): void =>
  void s.names.set('clock:', { seq: 0, at: ms })

/** What the last command appended, each as its type and the word that says how. */
export const told = (s: Rehearsal): string[] =>
  s.last.map((e) => {
    const d = e.data as Record<'outcome' | 'reason' | 'partial', string | boolean | undefined> & {
      error?: { kind: string }
    }
    return [e.type, d.outcome ?? d.reason ?? d.partial ?? d.error?.kind ?? ''].join(' ').trim()
  })
