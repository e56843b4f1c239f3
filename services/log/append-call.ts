import type { Connection } from '../database/connection.ts'
import type { BroughtName, DecidedEvent } from './rules/draft.ts'
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
  readonly recordedAt: string
}

/**
 * Appends to many sessions in one call of the database's append function, each as a whole or not at
 * all. Gives a result per session, in the order given. Throws DatabaseError if an event id, a name
 * or a receipt is there already (then nothing was appended), ConnectionLost if nobody can know.
 */
export const callAppend = async (
  connection: Connection,
  appends: readonly SessionAppend[],
  options: { readonly wait: boolean; readonly timeoutMs?: number },
): Promise<AppendResult[]> => {
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
    recorded_at: string
  }>(appendSql, parametersOf(sorted, options.wait), timeLimit(options.timeoutMs))
  const results: AppendResult[] = []
  for (const { a, outcome, sid, head, recorded_at } of rows) {
    results[order[a - 1]!] = { outcome, sid, head, recordedAt: recorded_at }
  }
  return results
}

const timeLimit = (timeoutMs: number | undefined) => (timeoutMs === undefined ? {} : { timeoutMs })

/** Neither JSON text, an id, a type nor a timestamp can hold it: lists travel joined by it, unescaped. */
const separator = '\u001e'

const appendSql = `select a, outcome, sid, head, recorded_at from stemma.append_v1(
  $1, $2, $3::text::bigint[], $4::text::int[], $5, $6::text::bigint[], $7::text::bigint[], $8,
  $9::text::int[], $10::text::bigint[], $11, $12, $13::text::int[], $14, $15, $16,
  $17::text::int[], $18, $19::text::bigint[], $20::text::boolean[],
  $21::text::int[], $22, $23, $24, $25::text::int[], $26::text::bigint[], $27::text::bigint[], $28)`

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
    numbers(appends.map((append) => append.sid)),
    numbers(appends.map((append) => append.tenant)),
    texts(appends.map((append) => append.sessionId)),
    numbers(appends.map((append) => append.expected)),
    numbers(appends.map((append) => append.head)),
    texts(appends.map((append) => JSON.stringify(append.state))),
    numbers(events.map(({ at }) => at)),
    numbers(events.map(({ event }) => event.seq)),
    texts(events.map(({ event }) => event.eventId)),
    texts(events.map(({ event }) => event.type)),
    numbers(events.map(({ event }) => event.version)),
    texts(events.map(({ event }) => JSON.stringify(event.data))),
    texts(events.map(({ event }) => JSON.stringify(event.meta))),
    texts(events.map(({ event }) => event.occurredAt ?? '')),
    numbers(names.map(({ at }) => at)),
    texts(names.map(({ name }) => name.name)),
    numbers(names.map(({ name }) => name.seq)),
    `{${names.map(({ name }) => (name.replace ? 't' : 'f')).join(',')}}`,
    numbers(receipts.map(({ at }) => at)),
    texts(receipts.map(({ receipt }) => receipt.commandId)),
    texts(receipts.map(({ receipt }) => receipt.route)),
    texts(receipts.map(({ receipt }) => receipt.requestHash)),
    numbers(receipts.map(({ receipt }) => receipt.status)),
    numbers(receipts.map(({ receipt }) => receipt.firstSeq)),
    numbers(receipts.map(({ receipt }) => receipt.lastSeq)),
    texts(receipts.map(({ receipt }) => JSON.stringify(receipt.result))),
  ]
}

const numbers = (list: readonly number[]): string => `{${list.join(',')}}`

const texts = (list: readonly string[]): string => list.join(separator)
