import type { EventData } from '../../schema/events/event-table.ts'

/**
 * The small `state` of a session: what is open, and counters. It is all that most appends are
 * decided on; what has been closed is looked up by name (`stemma.name`). Size is speed here: keep
 * titles, texts and lineage out (docs/protocol.md, "State").
 */
export type SessionState = {
  readonly fence: number
  readonly deleted?: true
  readonly archived?: true
  readonly origin?: { readonly system: string; readonly sessionId: string }
  readonly turn?: OpenTurn
  readonly step?: OpenStep
  readonly requests?: Readonly<Record<string, OpenRequest>>
  readonly inputs?: Readonly<Record<string, WaitingInput>>
  readonly compactions?: Readonly<Record<string, string>>
  readonly shells?: Readonly<Record<string, true>>
  readonly epochs?: Readonly<Record<string, OpenEpoch>>
  /** Answers given while no turn was active, by request: work until a turn takes them up. */
  readonly answers?: Readonly<Record<string, OpenRequest>>
  /** The last compaction did not shrink the context, and no message was added since (rule 16). */
  readonly futile?: true
  readonly importBefore?: ImportBefore
}

export type OpenTurn = {
  readonly turnId: string
  readonly ownerId: string
  readonly incarnation?: number
  readonly fence: number
  readonly startedSeq: number
  /** Given up by its owner: anyone may claim it. */
  readonly released?: true
  /** The first request to interrupt it, and the grace that was given last (ms). */
  readonly interrupt?: { readonly seq: number; readonly graceMs?: number }
  /** Failed attempts and failed steps in a row (rule 14). */
  readonly failures?: number
  /** A compaction for overflow has been started (rule 16). */
  readonly overflow?: true
  /** Calls of this turn that are unknown and not resolved, the last of them: message and call. */
  readonly unknown?: readonly (readonly [messageId: string, callId: string])[]
}

export type OpenStep = {
  readonly messageId: string
  readonly attempt: number
  readonly finish?: string
  readonly parts?: Readonly<Record<string, 'text' | 'reasoning'>>
  readonly calls?: Readonly<Record<string, OpenCall>>
  /** What forbids another attempt: a `once` call that was dispatched, a part that must stay (rule 13). */
  readonly veto?: { readonly callId: string } | { readonly partId: string }
  /** Left by an owner that is gone: it takes no new part (rule 7). */
  readonly inherited?: true
}

/** A tool call that has not settled. `streaming`: its input is arriving; `streamed`: it has arrived. */
export type OpenCall = {
  readonly status: 'streaming' | 'streamed' | 'called' | 'dispatched'
  readonly effect?: 'read' | 'idempotent' | 'once'
  readonly provider?: true
  readonly requestId?: string
  /** `true`: a question or an elicitation was answered; else what was decided of a permission. */
  readonly answered?: true | 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'
  /** Its `allow_once` was not used before the turn changed hands: it must be asked for again. */
  readonly void?: true
  /** How its last request was closed, if nobody answered it. */
  readonly closed?: EventData<'request.closed'>['reason']
  readonly effectKey?: string
  /** The earlier call whose effect is meant to be repeated. */
  readonly repeats?: string
  readonly childSessionId?: string
}

export type OpenRequest = {
  readonly kind: 'question' | 'permission' | 'elicitation'
  readonly messageId?: string
  readonly callId?: string
  readonly expiresAt?: string
}

export type WaitingInput = { readonly kind: string; readonly delivery: 'steer' | 'queue' }

export type OpenEpoch = { readonly worktreeId: string; readonly turn?: true }

/**
 * Where the session's import ended: while its head is still `head` (harmless facts move it), all that
 * is open is the source's. `open`: what was open before the importer's closings, which the source's
 * next events may take the place of.
 */
export type ImportBefore = { readonly head: number; readonly open?: OpenThings }

export type OpenThings = Pick<
  SessionState,
  'turn' | 'step' | 'requests' | 'compactions' | 'shells' | 'epochs'
>

/** Grows when the meaning of `state` changes; an older build does not write over a newer one's. */
export const stateVersion = 3

export const emptyState: SessionState = { fence: 0 }

export const openThings = (state: SessionState): OpenThings => ({
  ...(state.turn && { turn: state.turn }),
  ...(state.step && { step: state.step }),
  ...(state.requests && { requests: state.requests }),
  ...(state.compactions && { compactions: state.compactions }),
  ...(state.shells && { shells: state.shells }),
  ...(state.epochs && { epochs: state.epochs }),
})

/** Whether the session is a copy of its source still: nobody but the importer wrote anything that counts. */
export const followsSource = (state: SessionState, head: number): boolean =>
  state.importBefore?.head === head

/** The entry under `key`, if the record has one of its own (an id may be `constructor`). */
export const entryOf = <T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined)

/** The record with `key` set. */
export const withEntry = <T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string,
  value: T,
): Readonly<Record<string, T>> => ({ ...record, [key]: value })

/** The record without `key`; undefined when nothing is left, so that empty records are not stored. */
export const withoutEntry = <T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string,
): Readonly<Record<string, T>> | undefined => {
  const left = Object.entries(record ?? {}).filter(([name]) => name !== key)
  return left.length === 0 ? undefined : Object.fromEntries(left)
}

/** The state with some members replaced; a member given as undefined is removed. */
export const withMembers = (
  state: SessionState,
  members: { [K in keyof SessionState]?: SessionState[K] | undefined },
): SessionState => {
  const next: Record<string, unknown> = { ...state, ...members }
  for (const [key, value] of Object.entries(members)) if (value === undefined) delete next[key]
  return next as SessionState
}

export type SessionStatus = 'idle' | 'running' | 'requires_action'

export const sessionStatus = (state: SessionState): SessionStatus =>
  state.requests ? 'requires_action' : state.turn ? 'running' : 'idle'
