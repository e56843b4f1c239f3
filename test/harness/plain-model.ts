import type { Act, CommandOptions } from '../../services/log/command.ts'
import type { OwnerNow } from '../../services/log/guard.ts'

/**
 * What docs/protocol.md says of a session (rules 2 to 19), told again in the plainest way: everything
 * that ever was is kept and looked through, nothing is forgotten to save room. It shares no code with
 * the rules, so that what both say is what was meant.
 */
export type Plain = {
  /** The database's clock (ms). */
  now: number
  readonly owners: Map<string, OwnerNow>
  /** Child sessions that run. */
  readonly running: Set<string>
  head: number
  fence: number
  deleted: boolean
  futile: boolean
  turn: PlainTurn | undefined
  /** Turns that have ended, with the fence that they ended under. */
  readonly ended: Map<string, number>
  step: PlainStep | undefined
  readonly messages: Set<string>
  readonly parts: PlainPart[]
  readonly calls: PlainCall[]
  readonly requests: Map<string, PlainRequest>
  readonly inputs: Map<string, PlainInput>
  readonly compactions: Map<string, 'open' | 'closed'>
  readonly epochs: Map<string, 'open' | 'closed'>
  /** Requests whose decision stands. */
  readonly standing: Set<string>
  /** What was sent under each event id. */
  readonly sent: Map<string, string>
}

export type PlainTurn = {
  readonly turnId: string
  ownerId: string
  incarnation: number
  fence: number
  released: boolean
  interrupt: { reason: string; due: number } | undefined
  failures: number
  overflow: boolean
}

export type PlainStep = {
  readonly messageId: string
  attempt: number
  finish: string | undefined
  inherited: boolean
  mustStay: boolean
}

export type PlainPart = {
  readonly messageId: string
  readonly attempt: number
  readonly partId: string
  readonly kind: 'text' | 'reasoning'
  open: boolean
}

export type PlainCall = {
  readonly messageId: string
  readonly attempt: number
  readonly callId: string
  status: 'streaming' | 'streamed' | 'called' | 'dispatched' | 'settled'
  effect: 'read' | 'idempotent' | 'once' | undefined
  provider: boolean
  key: string | undefined
  repeats: string | undefined
  child: string | undefined
  /** Its place among all calls that were dispatched, or that a provider began; 0: it was not. */
  ran: number
  request: string | undefined
  answer: true | 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | undefined
  /** Allowed once, to an owner that is gone and had not used it. */
  isVoid: boolean
  outcome: string | undefined
  /** What was found out of an unknown outcome. */
  resolved: string | undefined
}

export type PlainRequest = {
  readonly kind: 'question' | 'permission' | 'elicitation'
  readonly messageId: string | undefined
  readonly callId: string | undefined
  readonly expiresAt: number | undefined
  status: 'open' | 'answered' | 'closed'
  /** The answer, or the reason and message of the close, as text. */
  said: string | undefined
}

export type PlainInput = {
  status: 'waiting' | 'delivered' | 'cancelled'
  delivery: 'steer' | 'queue'
  readonly kind: string
}

export type PlainAct = Act & CommandOptions

/** Why something is refused: each code in `must` is right, one in `may` is neither asked nor forbidden. */
export class Why {
  readonly must = new Set<string>()
  readonly may = new Set<string>()
  says(isWrong: boolean, code: string): boolean {
    if (isWrong) this.must.add(code)
    return isWrong
  }
  maySay(isOpen: boolean, code: string): void {
    if (isOpen) this.may.add(code)
  }
}

export const emptyPlain = (owners: readonly string[]): Plain => ({
  now: 0,
  owners: new Map(
    owners.map((id) => [id, { incarnation: 1, ended: false, lost: false, lapsesAt: null }]),
  ),
  running: new Set(),
  head: 0,
  fence: 0,
  deleted: false,
  futile: false,
  turn: undefined,
  ended: new Map(),
  step: undefined,
  messages: new Set(),
  parts: [],
  calls: [],
  requests: new Map(),
  inputs: new Map(),
  compactions: new Map(),
  epochs: new Map(),
  standing: new Set(),
  sent: new Map(),
})

/** The unsettled calls of the open step. */
export const openCalls = (m: Plain): PlainCall[] => m.calls.filter((c) => c.status !== 'settled')

export const openParts = (m: Plain): PlainPart[] => m.parts.filter((p) => p.open)

export const openRequests = (m: Plain): [string, PlainRequest][] =>
  [...m.requests].filter(([, r]) => r.status === 'open')

/** Whether the part or call id is taken in this attempt. */
export const isTaken = (m: Plain, messageId: string, attempt: number, id: string): boolean =>
  m.parts.some((p) => p.messageId === messageId && p.attempt === attempt && p.partId === id) ||
  m.calls.some((c) => c.messageId === messageId && c.attempt === attempt && c.callId === id)

/** Whether the turn's owner is gone: it gave the turn up, registered again, or is lost. */
export const isGone = (m: Plain, turn: PlainTurn): boolean => {
  const owner = m.owners.get(turn.ownerId)
  return turn.released || !owner || owner.incarnation > turn.incarnation || owner.lost
}

export const settle = (call: PlainCall, outcome: string): void => {
  call.status = 'settled'
  call.outcome = outcome
}

export const closeRequest = (request: PlainRequest, reason: string): void => {
  request.status = 'closed'
  request.said = reason
}

/** Rules 12 and 13: calls by whether they ran, parts as partial. */
export const closeStepContent = (m: Plain): void => {
  for (const call of openCalls(m)) {
    settle(call, call.status === 'dispatched' || call.provider ? 'unknown' : 'cancelled')
  }
  for (const part of openParts(m)) part.open = false
}

/** Rule 7: nothing stays open behind the end of a turn. */
export const endTurn = (m: Plain, fence: number): void => {
  closeStepContent(m)
  m.step = undefined
  for (const [, request] of openRequests(m)) closeRequest(request, 'cancelled')
  for (const id of m.compactions.keys()) m.compactions.set(id, 'closed')
  for (const id of m.epochs.keys()) m.epochs.set(id, 'closed')
  m.fence = Math.max(m.fence, fence)
  m.ended.set(m.turn!.turnId, fence)
  m.turn = undefined
}

/** What is open, to be compared with what the rules say is. */
export const pictureOf = (m: Plain) => ({
  fence: m.fence,
  deleted: m.deleted,
  futile: m.futile,
  turn: m.turn && {
    turnId: m.turn.turnId,
    ownerId: m.turn.ownerId,
    incarnation: m.turn.incarnation,
    fence: m.turn.fence,
    released: m.turn.released,
    interrupted: m.turn.interrupt !== undefined,
    failures: m.turn.failures,
    overflow: m.turn.overflow,
  },
  step: m.step && {
    messageId: m.step.messageId,
    attempt: m.step.attempt,
    finish: m.step.finish,
    inherited: m.step.inherited,
  },
  parts: openParts(m)
    .map((p) => `${p.partId} ${p.kind}`)
    .toSorted(),
  calls: openCalls(m)
    .map((c) => `${c.callId} ${c.status} ${c.request ?? '-'} ${c.answer ?? '-'}`)
    .toSorted(),
  requests: openRequests(m)
    .map(([id]) => id)
    .toSorted(),
  inputs: [...m.inputs]
    .filter(([, i]) => i.status === 'waiting')
    .map(([id, i]) => `${id} ${i.delivery}`)
    .toSorted(),
  compactions: openIds(m.compactions),
  epochs: openIds(m.epochs),
})

export type Picture = ReturnType<typeof pictureOf>

const openIds = (things: ReadonlyMap<string, 'open' | 'closed'>): string[] =>
  [...things]
    .filter(([, status]) => status === 'open')
    .map(([id]) => id)
    .toSorted()
