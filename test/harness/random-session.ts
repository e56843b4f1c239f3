import type { NewEvent } from '../../schema/events/envelope.ts'
import type { Act } from '../../services/log/command.ts'
import {
  called,
  dispatched,
  event,
  model,
  prompt,
  rehearse,
  settled,
  startTurn,
  stepEnded,
  tokens,
  type Rehearsal,
} from './rehearsal.ts'

/**
 * A session that a random host wrote: turns with steps, texts, parallel calls that settle late,
 * questions, retries, failures, interruptions, compactions, shells, inputs that wait. `random` gives
 * numbers from 0 up to 1. What the rules refuse is not in it; all else is.
 */
export const randomSession = (random: () => number, turns: number): Rehearsal => {
  const s = rehearse()
  const below = (n: number): number => Math.floor(random() * n)
  const chance = (p: number): boolean => random() < p
  let ids = 0
  const id = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const add = (act: Act): void => void s.accept(act)
  const note = (...events: NewEvent[]): void => add({ kind: 'append', events })

  add({ kind: 'create', event: event('session.created', { title: 'random' }) })
  for (let turn = 0; turn < turns; turn += 1) {
    const inputs = Array.from({ length: 1 + below(2) }, () => id('msg'))
    for (const input of inputs) add({ kind: 'admit', event: prompt(input) })
    const turnId = id('trn')
    add({ ...startTurn(turnId, inputs.slice(0, 1)), eventId: id('evt_t') } as Act)
    const { fence } = s.session.state
    const write = (...events: NewEvent[]): void => add({ kind: 'append', turnId, fence, events })
    if (inputs[1] && chance(0.5)) write(event('input.delivered', { messageId: inputs[1], turnId }))
    if (chance(0.2)) note(event('session.renamed', { title: id('title') }))
    if (chance(0.2))
      note(event('note.added', { messageId: id('msg'), role: 'system', text: 'note' }))
    if (chance(0.2)) note(event('agent.selected', { messageId: id('msg'), agent: 'plan' }))
    if (chance(0.2)) {
      const shell = id('msg')
      note(event('shell.started', { messageId: shell, command: 'ls' }))
      if (chance(0.7)) note(event('shell.ended', { messageId: shell, output: 'a\n', exit: 0 }))
    }
    let ended = false
    for (let step = 0; step < 1 + below(3) && !ended; step += 1) ended = randomStep()
    if (!ended || chance(0.9)) {
      const outcome = (['completed', 'failed', 'interrupted'] as const)[below(3)]!
      write(event('turn.ended', { turnId, outcome, fence }))
    } else write(event('turn.ended', { turnId, outcome: 'completed', fence }))
    if (chance(0.3)) {
      const compactionId = id('cmp')
      add({ ...startTurn(id('trn')), eventId: id('evt_t') } as Act)
      const own = s.session.state.turn!
      const events = [
        event('compaction.started', { compactionId, messageId: id('msg'), reason: 'auto' }),
        event('compaction.ended', {
          compactionId,
          summary: 'all',
          tokensBefore: 9,
          tokensAfter: 1,
        }),
        event('turn.ended', { turnId: own.turnId, outcome: 'completed', fence: own.fence }),
      ]
      add({ kind: 'append', turnId: own.turnId, fence: own.fence, events })
    }

    function randomStep(): boolean {
      const messageId = id('msg')
      const at = (e: NewEvent): NewEvent =>
        ({ ...e, data: { ...(e.data as object), messageId } }) as NewEvent
      write(event('step.started', { messageId, attempt: 1, agent: 'build', model }))
      if (chance(0.5)) write(at(event('text.started', { messageId, partId: 't' })))
      if (chance(0.8)) write(at(event('text.ended', { messageId, partId: 't', text: id('text') })))
      if (chance(0.2)) {
        write(
          event('step.retried', {
            messageId,
            attempt: 2,
            error: { kind: 'provider', message: 'x' },
          }),
        )
        write(event('text.ended', { messageId, partId: 't', text: id('text') }))
      }
      const calls = Array.from({ length: below(4) }, () => id('call'))
      for (const call of calls) {
        if (chance(0.3))
          write(event('tool.input.started', { messageId, callId: call, name: 'bash' }))
        write(at(called(call, (['read', 'idempotent', 'once'] as const)[below(3)])))
      }
      if (calls[0] && chance(0.3)) {
        const requestId = id('req')
        write(
          event('request.opened', {
            requestId,
            kind: 'question',
            messageId,
            callId: calls[0],
            questions: [{ question: 'q', options: [] }],
          }),
        )
        if (chance(0.5))
          write(
            event('tool.settled', {
              messageId,
              callId: calls.shift()!,
              outcome: 'denied',
              content: [],
            }),
          )
        else return true
      }
      // They settle in any order, some never.
      for (const call of calls.toSorted(() => random() - 0.5)) {
        if (chance(0.9)) write(at(dispatched(call)))
        if (chance(0.8)) write(at(settled(call, chance(0.7) ? 'error' : 'unknown')))
      }
      const open = s.session.state.step
      if (chance(0.1)) return true
      if (Object.keys(open?.calls ?? {}).length > 0 || open?.parts || chance(0.1)) {
        const error = { kind: 'provider' as const, message: 'x' }
        write(event('step.failed', { messageId, error, cost: 0.5, tokens }))
        return true
      }
      write(stepEnded(chance(0.5) ? 'tool-calls' : 'stop', messageId))
      return false
    }
  }
  return s
}
