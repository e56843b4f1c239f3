import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { foldRequest, requestIdOf, requestTypes } from '../requests/fold.ts'
import type { RequestRow } from '../requests/request-row.ts'
import { foldTurn, turnIdOf, turnTypes } from '../turns/fold.ts'
import type { TurnRow } from '../turns/turn-row.ts'
import { inputTypes, waitingChanges } from '../waiting/fold.ts'
import type { WaitingRow } from '../waiting/waiting-row.ts'

/** Types whose content the lists across sessions need. */
export const listTypes = [
  ...turnTypes,
  ...requestTypes,
  ...inputTypes,
] as const satisfies readonly EventType[]

/** An event with its session and its place in the order of all events. */
export type ListEvent = StoredEvent & {
  readonly sid: number
  readonly tenant: number
  readonly position: number
}

export type Entry<T> = T & { readonly sid: number; readonly tenant: number }

/**
 * Rows of some sessions, by `rowKey`. Before events are folded it holds the rows that they are about
 * and the active turns of their sessions. `changed` are the keys of what a fold has written;
 * a waiting row that is changed and not there is gone.
 */
export type Lists = {
  readonly turns: Map<string, Entry<TurnRow>>
  readonly requests: Map<string, Entry<RequestRow>>
  readonly waiting: Map<string, Entry<WaitingRow>>
  /** The active turn's key, by sid. */
  readonly active: Map<number, string>
  readonly changed: {
    readonly turns: Set<string>
    readonly requests: Set<string>
    readonly waiting: Set<string>
  }
}

export const emptyLists = (): Lists => ({
  turns: new Map(),
  requests: new Map(),
  waiting: new Map(),
  active: new Map(),
  changed: { turns: new Set(), requests: new Set(), waiting: new Set() },
})

/** Ids hold no blank. */
export const rowKey = (sid: number, ...ids: readonly string[]): string => [sid, ...ids].join(' ')

/** Folds one event into the rows; of other types than `listTypes` it changes nothing. */
export const foldLists = (lists: Lists, event: ListEvent): void => {
  if (!isListed(event.type)) return
  const { sid, tenant } = event
  const of = { sid, tenant }
  for (const change of waitingChanges(event, lists.active.has(sid))) {
    const { kind, id } = 'waits' in change ? change.waits : change.gone
    const key = rowKey(sid, kind, id)
    lists.changed.waiting.add(key)
    if ('waits' in change) lists.waiting.set(key, { ...change.waits, ...of })
    else lists.waiting.delete(key)
  }
  if (isTurn(event.type)) {
    const key = rowKey(sid, turnIdOf(event))
    const turn = foldTurn(lists.turns.get(key), event)
    if (!turn) return
    lists.turns.set(key, { ...turn, ...of })
    lists.changed.turns.add(key)
    if (turn.endedSeq === null) lists.active.set(sid, key)
    else if (lists.active.get(sid) === key) lists.active.delete(sid)
  } else if (isRequest(event.type)) {
    const key = rowKey(sid, requestIdOf(event))
    const request = foldRequest(lists.requests.get(key), event)
    if (!request) return
    lists.requests.set(key, { ...request, ...of })
    lists.changed.requests.add(key)
  }
}

const among =
  (types: readonly string[]) =>
  (type: string): boolean =>
    types.includes(type)

export const isListed = among(listTypes)
export const isTurn = among(turnTypes)
export const isRequest = among(requestTypes)
