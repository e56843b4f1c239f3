import t from 'tap'
import type { DecidedEvent } from '../../services/log/rules/draft.ts'
import { brokenInvariants } from './log-invariants.ts'
import { ask, claim, keyed, lose, underFence } from './owner-acts.ts'
import { dispatched, event, inTurn, rehearseTurn, settled, stepStarted } from './rehearsal.ts'

/** A log in which much happens, and nothing that must not. */
const goodLog = (): DecidedEvent[] => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), event('text.started', { messageId: 'msg_1', partId: 'p1' })))
  s.accept(inTurn(keyed('c1', 'pay'), dispatched('c1'), settled('c1')))
  s.accept(inTurn(keyed('c2', 'pay', { repeats: 'c1' }), ask('req_1', 'c2')))
  lose(s)
  s.accept(claim(1))
  s.accept(underFence(2, event('turn.ended', { turnId: 'trn_1', outcome: 'failed', fence: 2 })))
  return [...s.log]
}

const renumbered = (log: readonly DecidedEvent[]): DecidedEvent[] =>
  log.map((e, index) => ({ ...e, seq: index + 1 }))

t.test('a log that is as it must be breaks no invariant', async (t) => {
  t.same(brokenInvariants(goodLog()), [])
})

t.test('each thing that must never be in a log is found', async (t) => {
  const log = goodLog()
  const at = (type: string): number => log.findIndex((e) => e.type === type)
  const without = (type: string): DecidedEvent[] => renumbered(log.toSpliced(at(type), 1))
  const twice = (type: string): DecidedEvent[] =>
    renumbered(log.toSpliced(at(type), 0, log[at(type)]!))
  const changed = (type: string, data: object, meta = {}): DecidedEvent[] =>
    log.map((e, index) =>
      index === at(type)
        ? { ...e, data: { ...(e.data as object), ...data }, meta: { ...e.meta, ...meta } }
        : e,
    )
  const repeated = log.map((e) => {
    const { repeats: _, ...data } = e.data as Record<string, unknown>
    return { ...e, data }
  })
  const again = { ...log[at('tool.dispatched')]!, data: { messageId: 'msg_1', callId: 'c2' } }
  const bad: Record<string, readonly DecidedEvent[]> = {
    'a seq is left out': log.toSpliced(at('step.started'), 1),
    'two turns at once': twice('turn.started'),
    'a turn ends twice': twice('turn.ended'),
    'a part is open behind the end': without('text.ended'),
    'a step is open behind the end': without('step.failed'),
    'a request is open behind the end': without('request.closed'),
    'a request is settled twice': twice('request.closed'),
    'a call settles twice': twice('tool.settled'),
    'a call is open behind the end': without('tool.settled'),
    'a once call is dispatched twice': twice('tool.dispatched'),
    'an effect is repeated': renumbered(
      repeated.toSpliced(
        repeated.findIndex((e) => e.type === 'request.opened'),
        0,
        again,
      ),
    ),
    'a fence falls': changed('turn.claimed', { fence: 0 }),
    'an old fence writes': changed('turn.ended', {}, { fence: 1 }),
  }
  for (const [what, events] of Object.entries(bad)) {
    t.not(brokenInvariants(events).length, 0, what)
  }
})
