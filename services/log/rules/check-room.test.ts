import t from 'tap'
import {
  called,
  event,
  inTurn,
  prompt,
  rehearseTurn,
  settled,
  startTurn,
  stepStarted,
  turnEnded,
} from '../../../test/harness/rehearsal.ts'
import type { Rehearsal } from '../../../test/harness/rehearsal.ts'
import type { NewEvent } from '../../../schema/events/envelope.ts'
import type { Act } from '../command.ts'

const long = (text: string, n: number): string => `${text}_${n}_`.padEnd(128, 'x')

/** Does it until it is refused. Gives how often it was not, and the code of the refusal. */
const fill = (s: Rehearsal, act: (n: number) => Act): { times: number; code: string } => {
  for (let times = 0; times < 1_000; times += 1) {
    const decision = s.run(act(times))
    if (decision.kind === 'refused') return { times, code: decision.refusal.code }
  }
  return { times: 1_000, code: 'never' }
}

const sizeOf = (s: Rehearsal): number => JSON.stringify(s.session.state).length
const code = 'too_much_open'

t.test('what is open in a session has a bound, and all of it can still be ended', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted()))
  const calls = fill(s, (n) => inTurn(called(long('call', n))))
  t.match(calls, { code })
  t.ok(calls.times > 32 && sizeOf(s) <= 8_192)
  for (let n = 0; n < calls.times; n += 1) {
    s.accept(inTurn(settled(long('call', n), 'cancelled')))
  }
  t.match(
    fill(s, (n) => inTurn(called(long('again', n)))),
    { code },
  )
  s.accept(inTurn(turnEnded()))
  t.ok(sizeOf(s) < 300)
})

t.test('inputs that wait leave room for a turn that takes them up', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(turnEnded()))
  const inputs = fill(s, (n) => ({ kind: 'admit', event: prompt(long('msg', n)) }))
  t.match(inputs, { code })
  t.ok(inputs.times > 16)
  const turnId = long('trn', 0)
  s.accept(startTurn(turnId, [long('msg', 0)]))
  const under = (...events: NewEvent[]): Act => ({ kind: 'append', turnId, fence: 2, events })
  s.accept(under(stepStarted('msg_2')))
  const started = (n: number) =>
    event('shell.started', { messageId: long('shell', n), command: 'ls' })
  t.match(
    fill(s, (n) => under(started(n))),
    { code },
  )
  const ended = { turnId, outcome: 'completed' as const, fence: 2 }
  s.accept(under(event('turn.ended', ended)))
})
