import type { Command, Outcome, Target } from './command.ts'
import type { BroughtName } from './rules/draft.ts'
import { newId } from './new-id.ts'
import type { Decidable } from './rules/decidable.ts'
import type { Decision } from './rules/decide.ts'
import { sentName } from './rules/names.ts'
import type { ReceiptRow, SessionAppend } from './append-call.ts'

/** A command that waits for its answer. */
export type Pending = {
  readonly command: Command
  readonly bytes: number
  readonly deadline: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** A command with the decision that was made for it, waiting for the call to come back. */
export type DecidedCommand = {
  readonly pending: Pending
  readonly decision: Extract<Decision, { kind: 'accepted' }>
}

/** One session's part of a call: what its commands add, as a whole or not at all. */
export type Share = {
  readonly target: Target
  readonly append: SessionAppend
  readonly commands: readonly DecidedCommand[]
  readonly bytes: number
}

/** Adds what was decided for one more command to a session's share. */
export const shareOf = (
  target: Target,
  session: Decidable,
  commands: readonly DecidedCommand[],
): Share => {
  const last = commands.at(-1)!.decision.next
  const names = lastNotes(commands.flatMap(({ decision }) => decision.names))
  const guards = commands.flatMap(({ decision }) => decision.guards)
  const sent = guards.length === 0 ? undefined : sentName(newId('evt'))
  return {
    target,
    append: {
      sid: session.sid,
      tenant: target.tenant,
      sessionId: target.sessionId,
      expected: session.head,
      head: last.head,
      state: last.state,
      events: commands.flatMap(({ decision }) => decision.events),
      names: sent === undefined ? names : [...names, { name: sent, seq: last.head }],
      receipts: commands.flatMap(receiptsOf),
      guards,
      ...(sent !== undefined && { sent }),
    },
    commands,
    bytes: commands.reduce((sum, { pending }) => sum + pending.bytes, 0),
  }
}

/** Of notes of one name the last: a statement updates a row once. */
const lastNotes = (names: readonly BroughtName[]): readonly BroughtName[] => {
  const last = new Map(names.flatMap((n, index) => (n.replace ? [[n.name, index] as const] : [])))
  return names.filter((n, index) => !n.replace || last.get(n.name) === index)
}

/** What a command with a key leaves, so that the same again is answered the same. */
export const receiptsOf = ({ pending, decision }: DecidedCommand): ReceiptRow[] => {
  const { receipt } = pending.command
  if (!receipt) return []
  return [
    {
      ...receipt,
      status: decision.outcome.created ? 201 : 200,
      firstSeq: decision.outcome.firstSeq,
      lastSeq: decision.outcome.lastSeq,
      result: decision.outcome,
    },
  ]
}

/** Ids of the events that a command brings itself, by which its outcome can be found again. */
export const eventIdsOf = (command: Command): readonly string[] => {
  switch (command.kind) {
    case 'append':
    case 'import':
      return command.events.map((event) => event.eventId)
    case 'create':
    case 'admit':
      return [command.event.eventId]
    default:
      return [command.eventId]
  }
}

/** About how large a command is on its way to the database. */
export const bytesOf = (command: Command): number => {
  switch (command.kind) {
    case 'append':
    case 'import':
      return command.events.reduce((sum, event) => sum + 200 + roughSize(event.data), 0)
    case 'create':
    case 'admit':
      return 200 + roughSize(command.event.data)
    case 'answer-request':
      return 200 + roughSize(command.answer)
    default:
      return 200
  }
}

/** Strings counted by length, all else by a flat rate: exact enough to bound a batch, and cheap. */
const roughSize = (value: unknown): number => {
  let size = 0
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') size += next.length + 3
    else if (typeof next !== 'object' || next === null) size += 6
    else if (Array.isArray(next)) for (const item of next) open.push(item)
    else {
      for (const [key, member] of Object.entries(next)) {
        size += key.length + 4
        open.push(member)
      }
    }
  }
  return size
}
