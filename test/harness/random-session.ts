import type { NewEvent } from '../../schema/events/envelope.ts'
import type { Act } from '../../services/log/command.ts'
import { event, prompt, rehearse, startTurn, type Rehearsal } from './rehearsal.ts'
import { writeStep, type StepWriter } from './random-step.ts'

/**
 * A session that a random host wrote: turns with steps, texts, parallel calls that settle late,
 * questions, retries, failures, interruptions, compactions, shells, inputs that wait, are steered,
 * cancelled or of another kind, parts that are excluded long after. `random` gives numbers from 0 up
 * to 1. What the rules refuse is not in it; all else is.
 */
export const randomSession = (random: () => number, turns: number): Rehearsal => {
  const s = rehearse()
  const below = (n: number): number => Math.floor(random() * n)
  const chance = (p: number): boolean => random() < p
  let ids = 0
  const id = (prefix: string): string => `${prefix}_${(ids += 1)}`
  const add = (act: Act): void => void s.accept(act)
  const note = (...events: NewEvent[]): void => add({ kind: 'append', events })
  const parts: { messageId: string; partId: string }[] = []
  const shells: string[] = []

  add({ kind: 'create', event: event('session.created', { title: 'random' }) })
  for (let turn = 0; turn < turns; turn += 1) {
    const inputs = Array.from({ length: 1 + below(2) }, () => id('msg'))
    for (const input of inputs) add({ kind: 'admit', event: prompt(input) })
    const turnId = id('trn')
    add({ ...startTurn(turnId, inputs.slice(0, 1)), eventId: id('evt_t') } as Act)
    const { fence } = s.session.state
    const write = (...events: NewEvent[]): void => add({ kind: 'append', turnId, fence, events })
    const deliver = (messageId: string): void => {
      if (s.session.state.inputs![messageId]!.delivery === 'queue') {
        add({ kind: 'change-input', messageId, delivery: 'steer', eventId: id('evt_c') })
      }
      write(event('input.delivered', { messageId, turnId }))
    }
    if (inputs[1] && chance(0.5)) deliver(inputs[1])
    if (chance(0.5)) aside()
    const writer: StepWriter = { session: s, write, id, below, chance, random, parts }
    let ended = false
    for (let step = 0; step < 1 + below(3) && !ended; step += 1) {
      ended = writeStep(writer)
      if (chance(0.3)) aside()
      if (chance(0.3)) steer(deliver)
    }
    const outcome = (['completed', 'failed', 'interrupted'] as const)[below(3)]!
    write(event('turn.ended', { turnId, outcome, fence }))
    if (chance(0.4)) compact()
    if (chance(0.4)) aside()
  }
  return s

  /** Something that anybody may write, at any time. */
  function aside(): void {
    const messageId = id('msg')
    const about = parts[below(parts.length)]
    const waiting = Object.keys(s.session.state.inputs ?? {})[0]
    const shell = shells[0]
    switch (below(10)) {
      case 0:
        return note(event('session.renamed', { title: id('title') }))
      case 1:
        return note(event('note.added', { messageId, role: 'system', text: 'note' }))
      case 2:
        return note(event('agent.selected', { messageId, agent: 'plan' }))
      case 3:
        shells.push(messageId)
        return note(event('shell.started', { messageId, command: 'ls' }))
      case 4:
        if (shell === undefined) return
        shells.shift()
        return note(event('shell.ended', { messageId: shell, output: 'a\n', exit: 0 }))
      case 5:
        return about && note(event('part.excluded', { ...about, reason: id('reason') }))
      case 6:
        return about && note(event('part.included', { ...about, reason: '' }))
      case 7:
        return note({ ...event('session.viewed', {}), type: 'x.host.said', data: { messageId } })
      case 8:
        add({
          kind: 'admit',
          event: event('input.admitted', { messageId, kind: 'compact', delivery: 'queue' }),
        })
        return
      default:
        if (waiting === undefined) return
        add(
          chance(0.5)
            ? { kind: 'cancel-input', messageId: waiting, eventId: id('evt_c') }
            : { kind: 'change-input', messageId: waiting, delivery: 'steer', eventId: id('evt_c') },
        )
    }
  }

  /** An input that reaches the turn under way, now admitted or long ago. */
  function steer(deliver: (messageId: string) => void): void {
    if (chance(0.5)) add({ kind: 'admit', event: prompt(id('msg')) })
    const waiting = Object.keys(s.session.state.inputs ?? {})
    const messageId = waiting[below(waiting.length)]
    if (messageId !== undefined) deliver(messageId)
  }

  function compact(): void {
    const compactionId = id('cmp')
    add({ ...startTurn(id('trn')), eventId: id('evt_t') } as Act)
    const { turnId, fence } = s.session.state.turn!
    const write = (...events: NewEvent[]): void => add({ kind: 'append', turnId, fence, events })
    const messageId = id('msg')
    write(event('compaction.started', { compactionId, messageId, reason: 'auto' }))
    const end = { summary: 'all', tokensBefore: 9, tokensAfter: 1 }
    if (chance(0.7)) write(event('compaction.ended', { compactionId, ...end }))
    write(event('turn.ended', { turnId, outcome: 'completed', fence }))
  }
}
