import { DatabaseError, type Connection } from '../database/connection.ts'
import { booleanList, numberList, textList } from '../database/lists.ts'
import type { BroughtName, DecidedEvent } from './rules/draft.ts'
import type { Guard } from './guard.ts'
import { stateVersion, type SessionState } from './session-state.ts'

/** All that one call appends to one session; `sid` 0 creates it. */
export type SessionAppend = {
  readonly sid: number
  readonly tenant: number
  readonly sessionId: string
  readonly expected: number
  readonly head: number
  readonly state: SessionState
  readonly events: readonly DecidedEvent[]
  readonly names: readonly BroughtName[]
  readonly receipts: readonly ReceiptRow[]
  readonly guards: readonly Guard[]
  /** With guards: the name by which this very call can be made void (`void-call.ts`), one of `names`. */
  readonly sent?: string
}

export type ReceiptRow = {
  readonly commandId: string
  readonly route: string
  readonly requestHash: string
  readonly status: number
  readonly firstSeq: number
  readonly lastSeq: number
  readonly result: unknown
}

/** `conflict`: the head moved to `head`; `locked`: another call holds the row; the rest as they say. */
export type AppendResult = {
  readonly outcome: 'ok' | 'conflict' | 'locked' | 'exists' | 'missing'
  readonly sid: number
  readonly head: number
}

/**
 * Appends to many sessions in one call of the database's append function, each as a whole or not at
 * all. Gives a result per session, in the order given. Throws DatabaseError if an event id, a name
 * or a receipt is there already or a guard fails (then nothing was appended), ConnectionLost if
 * nobody can know.
 */
export const callAppend = async (
  connection: Connection,
  appends: readonly SessionAppend[],
  options: { readonly wait: boolean; readonly timeoutMs?: number },
): Promise<AppendResult[]> => {
  const [first] = appends
  if (appends.length === 1 && !options.wait && (await appendOne(connection, first!, options))) {
    return [{ outcome: 'ok', sid: first!.sid, head: first!.head }]
  }
  // New ones first, the rest in order of sid: the order in which rows are locked.
  const order = appends
    .map((_, index) => index)
    .toSorted((a, b) => appends[a]!.sid - appends[b]!.sid)
  const sorted = order.map((index) => appends[index]!)
  const rows = await connection.query<{
    a: number
    outcome: AppendResult['outcome']
    sid: number
    head: number
  }>(...callOf(sorted, options.wait), timeLimit(options.timeoutMs))
  const results: AppendResult[] = []
  for (const { a, outcome, sid, head } of rows) {
    results[order[a - 1]!] = { outcome, sid, head }
  }
  if (rows.length !== appends.length) {
    throw new Error(`${rows.length} results for ${appends.length} appends`)
  }
  return results
}

const timeLimit = (timeoutMs: number | undefined) => (timeoutMs === undefined ? {} : { timeoutMs })

const appendSql = `select a, outcome, sid, head from stemma.append_v1(
  $1, $2, $3::text::bigint[], $4::text::int[], $5, $6::text::bigint[], $7::text::bigint[], $8,
  $9::text::int[], $10::text::bigint[], $11, $12, $13::text::int[], $14, $15, $16,
  $17::text::int[], $18, $19::text::bigint[], $20::text::boolean[],
  $21::text::int[], $22, $23, $24, $25::text::int[], $26::text::bigint[], $27::text::bigint[], $28)`

/** With guards the function that checks them first. */
const callOf = (appends: readonly SessionAppend[], wait: boolean): [string, unknown[]] => {
  const parameters = parametersOf(appends, wait)
  const guards = appends.flatMap((append) => append.guards)
  if (guards.length === 0) return [appendSql, parameters]
  return [
    appendGuardedSql,
    [
      ...parameters,
      numberList(guards.map(({ tenant }) => tenant)),
      textList(guards.map(({ ownerId }) => ownerId)),
      numberList(guards.map(({ incarnation }) => incarnation)),
      `{${guards.map(({ need }) => need).join(',')}}`,
    ],
  ]
}

/** The code of a guard that failed: nothing was appended. */
export const guardFailed = 'P0S03'

const appendGuardedSql = appendSql
  .replace('append_v1', 'append_guarded_v1')
  .replace('$28)', '$28, $29::text::int[], $30, $31::text::bigint[], $32::text::text[])')

const parametersOf = (appends: readonly SessionAppend[], wait: boolean): unknown[] => {
  const events = appends.flatMap((append, index) =>
    append.events.map((event) => ({ at: index + 1, event })),
  )
  const names = appends.flatMap((append, index) =>
    append.names.map((name) => ({ at: index + 1, name })),
  )
  const receipts = appends.flatMap((append, index) =>
    append.receipts.map((receipt) => ({ at: index + 1, receipt })),
  )
  return [
    wait,
    stateVersion,
    numberList(appends.map((append) => append.sid)),
    numberList(appends.map((append) => append.tenant)),
    textList(appends.map((append) => append.sessionId)),
    numberList(appends.map((append) => append.expected)),
    numberList(appends.map((append) => append.head)),
    textList(appends.map((append) => JSON.stringify(append.state))),
    numberList(events.map(({ at }) => at)),
    numberList(events.map(({ event }) => event.seq)),
    textList(events.map(({ event }) => event.eventId)),
    textList(events.map(({ event }) => event.type)),
    numberList(events.map(({ event }) => event.version)),
    textList(events.map(({ event }) => JSON.stringify(event.data))),
    textList(events.map(({ event }) => JSON.stringify(event.meta))),
    textList(events.map(({ event }) => event.occurredAt ?? '')),
    numberList(names.map(({ at }) => at)),
    textList(names.map(({ name }) => name.name)),
    numberList(names.map(({ name }) => name.seq)),
    booleanList(names.map(({ name }) => name.replace ?? false)),
    numberList(receipts.map(({ at }) => at)),
    textList(receipts.map(({ receipt }) => receipt.commandId)),
    textList(receipts.map(({ receipt }) => receipt.route)),
    textList(receipts.map(({ receipt }) => receipt.requestHash)),
    numberList(receipts.map(({ receipt }) => receipt.status)),
    numberList(receipts.map(({ receipt }) => receipt.firstSeq)),
    numberList(receipts.map(({ receipt }) => receipt.lastSeq)),
    textList(receipts.map(({ receipt }) => JSON.stringify(receipt.result))),
  ]
}

/**
 * The short way, for one session that is there: whether it was appended. If not, nothing happened.
 * Not for an open transaction: where it finds the row locked, its statement fails.
 */
const appendOne = async (
  connection: Connection,
  append: SessionAppend,
  options: { readonly timeoutMs?: number },
): Promise<boolean> => {
  const { sid, events, names, receipts, guards } = append
  if (guards.length > 0) return false
  if (sid === 0 || receipts.length > 1 || names.some(({ replace }) => replace)) return false
  const parameters = [
    stateVersion,
    sid,
    append.tenant,
    append.sessionId,
    append.expected,
    append.head,
    JSON.stringify(append.state),
    textList(events.map((event) => event.eventId)),
    textList(events.map((event) => event.type)),
    textList(events.map((event) => String(event.version))),
    textList(events.map((event) => JSON.stringify(event.data))),
    textList(events.map((event) => JSON.stringify(event.meta))),
    textList(events.map((event) => event.occurredAt ?? '')),
    textList(names.map(({ name }) => name)),
    textList(names.map(({ seq }) => String(seq))),
    textList(receipts.flatMap(receiptFields)),
  ]
  try {
    const limit = timeLimit(options.timeoutMs)
    const [row] = await connection.query<{ done: boolean }>(appendOneSql, parameters, limit)
    return row!.done
  } catch (error) {
    if (error instanceof DatabaseError && error.code === lockNotAvailable) return false
    throw error
  }
}

const lockNotAvailable = '55P03'

const appendOneSql = `select stemma.append_one_v1(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) as done`

const receiptFields = (receipt: ReceiptRow): string[] => [
  receipt.commandId,
  receipt.route,
  receipt.requestHash,
  String(receipt.status),
  String(receipt.firstSeq),
  String(receipt.lastSeq),
  JSON.stringify(receipt.result),
]
