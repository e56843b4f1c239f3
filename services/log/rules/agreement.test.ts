import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { TakeOverReport } from '../../../schema/events/turn.ts'
import { brokenInvariants } from '../../../test/harness/log-invariants.ts'
import { judge } from '../../../test/harness/plain-model-commands.ts'
import {
  emptyPlain,
  pictureOf,
  type Picture,
  type Plain,
  type PlainAct,
} from '../../../test/harness/plain-model.ts'
import { randomAct } from '../../../test/harness/random-hosts.ts'
import { event, rehearse, type Rehearsal } from '../../../test/harness/rehearsal.ts'
import { seeded } from '../../../test/harness/seeded.ts'
import type { SessionState } from '../session-state.ts'
import { decide } from './decide.ts'

/** What the rules' state says is open, in the model's words. */
const pictureOfState = (state: SessionState): Picture => {
  const { turn, step } = state
  const ids = (things: object | undefined): string[] => Object.keys(things ?? {}).toSorted()
  return {
    fence: state.fence,
    deleted: state.deleted ?? false,
    futile: state.futile ?? false,
    turn: turn && {
      turnId: turn.turnId,
      ownerId: turn.ownerId,
      incarnation: turn.incarnation ?? 0,
      fence: turn.fence,
      released: turn.released ?? false,
      interrupted: turn.interrupt !== undefined,
      failures: turn.failures ?? 0,
      overflow: turn.overflow ?? false,
    },
    step: step && {
      messageId: step.messageId,
      attempt: step.attempt,
      finish: step.finish,
      inherited: step.inherited ?? false,
    },
    parts: Object.entries(step?.parts ?? {})
      .map(([partId, kind]) => `${partId} ${kind}`)
      .toSorted(),
    calls: Object.entries(step?.calls ?? {})
      .map(([id, c]) => `${id} ${c.status} ${c.requestId ?? '-'} ${c.answered ?? '-'}`)
      .toSorted(),
    requests: ids(state.requests),
    inputs: Object.entries(state.inputs ?? {})
      .map(([id, { delivery }]) => `${id} ${delivery}`)
      .toSorted(),
    compactions: ids(state.compactions),
    epochs: ids(state.epochs),
  }
}

const callsOf = (report: TakeOverReport): Record<string, string> =>
  Object.fromEntries(report.calls.map(({ callId, now }) => [callId, now]))

type Trial = {
  readonly s: Rehearsal
  m: Plain
  readonly past: PlainAct[]
  /** How often each code and each type of event was met. */
  readonly met: Map<string, number>
}

const begin = (met: Map<string, number>): Trial => {
  const owners = ['own_1', 'own_2', 'own_a']
  const s = rehearse()
  s.accept({ kind: 'create', event: event('session.created', {}, { eventId: 'evt_created' }) })
  const m = emptyPlain(owners)
  s.owners.clear()
  for (const [ownerId, owner] of m.owners) s.owners.set(ownerId, owner)
  s.names.set('clock:', { seq: 0, at: 0 })
  return { s, m: { ...m, head: 1 }, past: [], met }
}

/** What happens beside the log: the clock, owners that come and go, children that run or stop. */
const elapse = ({ s, m }: Trial, below: (n: number) => number): void => {
  m.now += below(40)
  s.names.set('clock:', { seq: 0, at: m.now })
  if (below(8) > 0) return
  const ownerId = ['own_1', 'own_2', 'own_a'][below(3)]!
  const owner = m.owners.get(ownerId)!
  const next = [
    { ...owner, incarnation: owner.incarnation + 1, ended: false, lost: false },
    { ...owner, incarnation: owner.incarnation + 1, ended: false, lost: false },
    { ...owner, ended: true, lost: true },
    { ...owner, lost: true },
    { ...owner, lost: owner.ended },
  ][below(5)]!
  m.owners.set(ownerId, next)
  s.owners.set(ownerId, next)
  const child = ['ses_a', 'ses_b'][below(2)]!
  const runs = below(2) === 0
  if (runs) m.running.add(child)
  else m.running.delete(child)
  s.names.set(`child:${child}`, { seq: 1, data: { fence: 1, ...(runs && { turn: {} }) } })
}

/**
 * One act, decided by the rules with and without look-ups and by the model: all must say the same and
 * leave the same open.
 */
const act = (trial: Trial, seed: number, n: number): void => {
  const random = seeded(seed)
  const below = (most: number): number => Math.floor(random() * most)
  elapse(trial, below)
  const { s, m, past } = trial
  const next = randomAct(m, below, n, past)
  const quick = decide(s.session, { tenant: 1, sessionId: 'ses_1', ...next })
  const decision = s.run(next)
  if (decision.kind === 'lookup') throw new Error(`look-up of ${decision.names.join()}`)
  const told = decision.kind === 'refused' ? decision.refusal.code : undefined
  const verdict = judge(m, next, told)
  const say = (what: string): Error => {
    const before = s.log.map((e) => `${e.seq} ${e.type} ${JSON.stringify(e.data)}`)
    const lines = [
      `act ${n}: ${JSON.stringify(next)}: ${what}`,
      `open: ${JSON.stringify(pictureOf(m))}`,
    ]
    return new Error([...lines, 'before:', ...before].join('\n'))
  }
  // Without a look-up only names that are taken, and events that are there, may be overlooked: the
  // database refuses those itself.
  const isKnown = next.kind === 'append' && next.events.some((e) => m.sent.has(e.eventId))
  if (quick.kind === 'accepted' && !isKnown && told !== 'duplicate_id') {
    if (decision.kind === 'refused') throw say(`${told}, but not without a look-up`)
    deepStrictEqual(quick.events, decision.events)
  }
  if (verdict.kind === 'refused') {
    if (told === undefined) throw say(`accepted, but it is ${[...verdict.codes].join(' or ')}`)
    if (!verdict.codes.has(told)) throw say(`${told}, but it is ${[...verdict.codes].join(' or ')}`)
    trial.met.set(told, (trial.met.get(told) ?? 0) + 1)
    return
  }
  if (decision.kind === 'refused') throw say(`${told}, but it is right`)
  trial.m = { ...verdict.after, head: s.session.head }
  try {
    deepStrictEqual(pictureOfState(s.session.state), pictureOf(trial.m))
    const report = decision.outcome.turn?.report
    deepStrictEqual(report && callsOf(report), verdict.calls)
  } catch (error) {
    throw say((error as Error).message)
  }
  past.push(next)
  for (const { type } of decision.events) trial.met.set(type, (trial.met.get(type) ?? 0) + 1)
}

/** Without these the trial would prove little. */
const mustBeMet = [
  'turn.claimed',
  'turn.released',
  'request.answered',
  'session.deleted',
  'tool.resolved',
  'attempts_spent',
  'compaction_futile',
  'effect_repeated',
  'event_id_reused',
  'expected_seq',
  'fence_required',
  'fenced',
  'incomplete_stream',
  'no_turn',
  'open_tool_calls',
  'overflow_recovery_spent',
  'owner_alive',
  'owner_exited',
  'owner_superseded',
  'replay_vetoed',
  'request_settled',
  'session_deleted',
  'turn_active',
  'turn_settled',
]

t.test(
  'whatever hosts, clients and sweeps do, the rules and a plain model of the design agree on what is refused, and on what is open',
  async (t) => {
    const seeds = fc.array(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 250, size: 'max' })
    const met = new Map<string, number>()
    fc.assert(
      fc.property(seeds, (seeds) => {
        const trial = begin(met)
        seeds.forEach((seed, n) => act(trial, seed, n))
        deepStrictEqual(brokenInvariants(trial.s.log), [])
      }),
      { numRuns: 1_000, interruptAfterTimeLimit: 60_000 },
    )
    for (const what of mustBeMet) t.ok(met.has(what), `${what} was met`)
  },
)
