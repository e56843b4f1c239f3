import type { NewEvent } from '../../schema/events/envelope.ts'
import type { EventData, EventType } from '../../schema/events/event-table.ts'
import { openCalls, openParts, openRequests, type Plain, type PlainAct } from './plain-model.ts'
import { event, model, tokens } from './rehearsal.ts'

/**
 * What one of several hosts, clients or sweeps does next: mostly what is sensible in the session as it
 * is, now and then what is not. `below` gives integers from 0; `n` numbers the acts, for ids of their
 * own; `past` are the appends so far, of which some are sent again.
 */
export const randomAct = (
  m: Plain,
  below: (n: number) => number,
  n: number,
  past: readonly PlainAct[],
): PlainAct => {
  const chance = (percent: number): boolean => below(100) < percent
  const pick = <T>(...of: readonly T[]): T => of[below(of.length)]!
  /** One that is open, or one that may not be there. */
  const some = (open: readonly string[], prefix: string, most: number): string =>
    open.length > 0 && chance(85) ? pick(...open) : `${prefix}${below(most)}`
  const eventId = `evt_a${n}`
  const newMessage = chance(96) ? `m${m.messages.size}` : 'm1'
  const turnId = m.turn && chance(92) ? m.turn.turnId : pick('t0', 't1', ...m.ended.keys())
  const fence = chance(90) ? (m.turn?.fence ?? m.fence) : Math.max(0, m.fence - 1 + below(3))
  const ownerId = pick('own_1', 'own_2', 'own_a', chance(5) ? 'own_no' : 'own_1')
  const known = m.owners.get(ownerId)?.incarnation ?? 1
  const incarnation = chance(93) ? known : Math.max(1, known - 1 + below(3))
  const by = { subject: pick('ann', 'bob') }
  const requestId = some(
    openRequests(m).map(([id]) => id),
    'r',
    m.requests.size + 1,
  )
  const waiting = [...m.inputs].filter(([, i]) => i.status === 'waiting').map(([id]) => id)
  const inputId = some(waiting, 'm', m.messages.size + 1)

  if (chance(m.turn ? 2 : 70)) {
    const inputs = waiting.filter(() => chance(60))
    return {
      kind: 'start-turn',
      turnId: chance(95) ? `t${m.ended.size + 1}` : turnId,
      ownerId,
      incarnation,
      inputs: chance(95) ? inputs : [inputId],
      eventId,
    }
  }
  if (m.deleted && chance(80)) return { kind: 'restore', eventId }
  if (m.turn?.interrupt && chance(10)) {
    return chance(60)
      ? { kind: 'end-interrupted', turnId, eventId }
      : { kind: 'interrupt-turn', reason: 'sooner', by, graceMs: 1 + below(300), eventId }
  }
  const roll = below(1_000)
  if (roll < 770) return append()
  if (roll < 800) return again()
  if (roll < 840) {
    return { kind: 'claim-turn', turnId, ownerId, incarnation, fromFence: fence, eventId }
  }
  if (roll < 846) return { kind: 'release-turn', turnId, fence, eventId }
  if (roll < 862) {
    return {
      kind: 'interrupt-turn',
      ...(chance(80) && { turnId }),
      reason: `why ${n}`,
      by,
      ...(chance(75) && { graceMs: pick(0, 100, 500, 1_000, 3_000) }),
      eventId,
    }
  }
  if (roll < 872) return { kind: 'end-interrupted', turnId, eventId }
  if (roll < 876)
    return { kind: 'fail-turn', turnId, ownerId, incarnation, reason: 'gone', eventId }
  if (roll < 900) {
    const delivery = pick('steer' as const, 'queue' as const)
    return {
      kind: 'admit',
      event: event(
        'input.admitted',
        { messageId: newMessage, kind: 'prompt', text: 'x', delivery },
        { eventId },
      ),
    }
  }
  if (roll < 906) return { kind: 'change-input', messageId: inputId, delivery: 'steer', eventId }
  if (roll < 909) return { kind: 'cancel-input', messageId: inputId, eventId }
  if (roll < 975) return openRequests(m).length > 0 || chance(20) ? answer() : append()
  if (roll < 983) {
    return {
      kind: 'close-request',
      requestId,
      reason: pick('rejected' as const, 'dismissed' as const, 'cancelled' as const),
      eventId,
    }
  }
  if (roll < 990) return { kind: 'expire-requests', eventId }
  if (roll < 996) return { kind: 'revoke-permission', requestId, eventId }
  return roll < 998 ? { kind: 'restore', eventId } : { kind: 'delete', eventId }

  function append(): PlainAct {
    const events = Array.from({ length: pick(1, 1, 1, 2, 3) }, (_, i) =>
      someEvent(`${eventId}_${i}`),
    )
    const bare = chance(3) || (events.every((e) => free.has(e.type)) && chance(60))
    return {
      kind: 'append',
      events,
      ...(!bare && { turnId, fence }),
      ...(chance(4) && { expectedSeq: m.head - below(2) }),
    }
  }

  /** An append that was sent before: whole, with something new, or with other content. */
  function again(): PlainAct {
    const before = past[below(past.length)]
    if (before?.kind !== 'append') return append()
    const more = { ...before, events: [...before.events, someEvent(eventId)] }
    const other = {
      ...event('session.renamed', { title: 'other' }),
      eventId: before.events[0]!.eventId,
    }
    return pick<PlainAct>(before, before, more, { ...before, events: [other] })
  }

  function answer(): PlainAct {
    const kind = m.requests.get(requestId)?.kind
    return {
      kind: 'answer-request',
      requestId,
      messageId: newMessage,
      answer:
        kind === 'permission'
          ? {
              decision: pick(
                'allow_once' as const,
                'allow_once' as const,
                'allow_always' as const,
                'reject_once' as const,
                'reject_always' as const,
              ),
            }
          : { answers: [[pick('yes', 'no')]] },
      by,
      eventId,
    }
  }

  function someEvent(id: string): NewEvent {
    const make = <T extends EventType>(type: T, data: EventData<T>): NewEvent =>
      event(type, data, { eventId: id })
    const step = m.step && chance(95) ? m.step.messageId : pick('m1', 'm_no', newMessage)
    const calls = openCalls(m)
    const callId = some(
      calls.map((c) => c.callId),
      'c',
      5,
    )
    const call = { messageId: step, callId }
    const partId = some(
      openParts(m).map((p) => p.partId),
      'p',
      5,
    )
    const part = { messageId: step, partId: chance(95) ? partId : callId }
    const error = { kind: 'provider' as const, message: 'x' }
    const ended = { ...part, text: 'x', ...(chance(8) && { mustStay: true }) }
    if (!m.step && chance(60)) {
      return make('step.started', {
        messageId: newMessage,
        attempt: chance(97) ? 1 : 2,
        agent: 'a',
        model,
      })
    }
    const compactionId = some(openIds(m.compactions), 'k', m.compactions.size + 1)
    const epochId = some(openIds(m.epochs), 'e', m.epochs.size + 1)
    const times = <T>(count: number, ...of: readonly T[]): T[] =>
      Array.from({ length: count }, () => of).flat()
    const is = (status: string): number => calls.filter((c) => c.status === status).length
    const retry = (): NewEvent => {
      const attempt = (m.step?.attempt ?? 1) + (chance(95) ? 1 : below(3))
      return make('step.retried', { messageId: step, attempt, error })
    }
    const made = pick<() => NewEvent>(
      () => make('text.started', { ...part, partId: `p${below(5)}` }),
      () => make('reasoning.started', { ...part, partId: `p${below(5)}` }),
      ...times(
        1 + 2 * openParts(m).length,
        () => make('text.ended', ended),
        () => make('reasoning.ended', ended),
      ),
      () => make('tool.input.started', { ...call, callId: `c${below(5)}`, name: 'x' }),
      ...times(1 + is('streaming'), () => make('tool.input.ended', { ...call, text: '{}' })),
      ...times(4, newCall),
      ...times(1 + 3 * is('called'), () => make('tool.dispatched', call)),
      ...times(1 + is('called') + 2 * is('dispatched'), settled),
      () => make('step.streamed', { messageId: step, finish: pick('stop', 'tool-calls', 'other') }),
      ...times(calls.length === 0 ? 3 : 1, stepEnd),
      () => make('step.failed', { messageId: step, error }),
      retry,
      ...times(1 + is('called'), asked),
      () =>
        make('compaction.started', {
          compactionId: `k${m.compactions.size + 1}`,
          messageId: newMessage,
          reason: pick('auto' as const, 'manual' as const, 'overflow' as const),
        }),
      ...times(1 + 3 * openIds(m.compactions).length, () =>
        make('compaction.ended', {
          compactionId,
          summary: '',
          tokensBefore: 9,
          tokensAfter: pick(1, 9),
        }),
      ),
      () =>
        make('epoch.opened', {
          epochId: `e${m.epochs.size + (chance(95) ? 1 : 0)}`,
          epoch: 1,
          worktreeId: 'w',
          capture: 'scan',
        }),
      () => make('epoch.sealed', { epochId, changes: [] }),
      () => make('input.delivered', { messageId: inputId, turnId }),
      resolved,
      () => make('note.added', { messageId: newMessage, role: 'system', text: 'x' }),
      () => make('session.renamed', { title: 'x' }),
      () => (chance(25) ? turnEnd() : newCall()),
    )
    return made()

    function newCall(): NewEvent {
      const effect = pick('read' as const, 'idempotent' as const, 'once' as const, 'once' as const)
      const ran = m.calls.filter((c) => c.key !== undefined && c.ran > 0)
      const repeated = ran.toSorted((a, b) => b.ran - a.ran)[below(2)]
      const repeats = chance(30) ? repeated : undefined
      const effectKey = repeats?.key ?? pick('pay', 'mail', undefined)
      return make('tool.called', {
        messageId: step,
        callId: chance(70) ? `c${below(6)}` : callId,
        name: 'x',
        input: {},
        effect,
        ...(effectKey !== undefined && { effectKey }),
        ...(repeats && { repeats: repeats.callId }),
        executedBy: chance(88) ? 'host' : 'provider',
        ...(chance(15) && { childSessionId: pick('ses_a', 'ses_b') }),
      })
    }

    function settled(): NewEvent {
      const outcome = pick(
        'ok' as const,
        'ok' as const,
        'error' as const,
        'denied' as const,
        'cancelled' as const,
        'unknown' as const,
      )
      return make('tool.settled', { ...call, outcome, content: [] })
    }

    function stepEnd(): NewEvent {
      const finish = pick('stop', 'tool-calls', 'tool-calls', m.step?.finish ?? 'length', 'other')
      return make('step.ended', { messageId: step, finish, cost: 0, tokens })
    }

    function turnEnd(): NewEvent {
      const outcome = pick('completed' as const, 'failed' as const, 'interrupted' as const)
      return make('turn.ended', { turnId, outcome, fence: chance(95) ? fence : fence + 1 })
    }

    function resolved(): NewEvent {
      const unknown = m.calls.filter((c) => c.outcome === 'unknown')
      const one = unknown.length > 0 && chance(90) ? pick(...unknown) : { messageId: step, callId }
      return make('tool.resolved', {
        messageId: one.messageId,
        callId: one.callId,
        outcome: pick('ok' as const, 'error' as const),
        evidence: 'seen',
      })
    }

    function asked(): NewEvent {
      const askable = calls.filter((c) => c.status === 'called' || c.status === 'dispatched')
      const of = askable.length > 0 && chance(85) ? pick(...askable).callId : callId
      const kind = pick('question' as const, 'permission' as const, 'permission' as const)
      return make('request.opened', {
        requestId: chance(96) ? `r${m.requests.size + 1}` : 'r1',
        kind,
        ...(chance(80) && { messageId: step }),
        ...(kind === 'question'
          ? { questions: [{ question: 'q', options: [] }] }
          : { permission: { action: 'run', resources: ['ls'] } }),
        ...(chance(30) && { expiresAt: new Date(m.now + below(500)).toISOString() }),
        ...(chance(75) && { messageId: step, callId: of }),
      })
    }
  }
}

/** What anybody may write. */
const free: ReadonlySet<string> = new Set(['tool.resolved', 'note.added', 'session.renamed'])

const openIds = (things: ReadonlyMap<string, 'open' | 'closed'>): string[] =>
  [...things].filter(([, status]) => status === 'open').map(([id]) => id)
