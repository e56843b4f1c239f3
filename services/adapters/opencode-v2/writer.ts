import {
  isKnownType,
  eventTable,
  type EventData,
  type EventType,
} from '../../../schema/events/event-table.ts'
import { deriveId } from '../../log/new-id.ts'
import type { TranslatedEvent } from '../translation.ts'
import type { OpencodeEvent } from './source.ts'

/** What is open at a place of the source, and the events that were made up to it. */
export type Writer = {
  readonly sessionId: string
  readonly events: TranslatedEvent[]
  readonly mended: Set<string>
  readonly admitted: Map<string, string>
  fence: number
  turn: { readonly turnId: string; readonly fence: number } | undefined
  step: SourceStep | undefined
}

export type SourceStep = {
  readonly messageId: string
  readonly parts: Map<string, 'text' | 'reasoning'>
  readonly calls: Map<string, SourceCall>
  /** A call of it failed because a person interrupted. */
  interrupted: boolean
}

export type SourceCall = {
  readonly name: string
  called: boolean
  dispatched: boolean
  requestId?: string
}

export const newWriter = (sessionId: string): Writer => ({
  sessionId,
  events: [],
  mended: new Set(),
  admitted: new Map(),
  fence: 0,
  turn: undefined,
  step: undefined,
})

export const timeOf = (milliseconds: number | undefined): string =>
  new Date(milliseconds ?? 0).toISOString()

/**
 * Writes an event of the source under its own id. What has no home in the payload goes to
 * `meta.opencode`; where the source stood goes there too.
 */
export const write = <T extends EventType>(
  writer: Writer,
  source: OpencodeEvent,
  type: T,
  data: EventData<T>,
  homeless: Readonly<Record<string, unknown>> = {},
): void => {
  writer.events.push({
    eventId: source.id,
    type,
    version: eventTable[type].version,
    occurredAt: timeOf(source.data.timestamp),
    data,
    meta: { opencode: { ...source.durable, ...homeless } },
  })
}

/** Writes an event that the source only implies; its id follows from the one that implies it. */
export const derive = <T extends EventType>(
  writer: Writer,
  cause: { readonly id: string; readonly at: string; readonly closing?: true },
  purpose: string,
  type: T,
  data: EventData<T>,
): void => {
  writer.events.push({
    eventId: deriveId('evt', writer.sessionId, cause.id, purpose),
    type,
    version: eventTable[type].version,
    occurredAt: cause.at,
    data,
    meta: { opencode: { derivedFrom: cause.id }, ...(cause.closing && { importClosing: true }) },
  })
}

/** Keeps an event that has no counterpart here, or no place: as it is, under a type of OpenCode's. */
export const keepForeign = (writer: Writer, source: OpencodeEvent, why?: string): void => {
  const name = source.type.replace(/^session\.next\./, '').replaceAll(/[^A-Za-z0-9._:~-]/g, '-')
  const type = `x.opencode.${name}`.slice(0, 128)
  if (isKnownType(type)) throw new Error('a foreign type is a known one')
  writer.events.push({
    eventId: source.id,
    type,
    version: 1,
    occurredAt: timeOf(source.data.timestamp),
    data: source.data,
    meta: { opencode: { ...source.durable } },
  })
  if (why) writer.mended.add(`${source.type} ${source.id} is kept as ${type}: ${why}`)
}

export const causeOf = (source: OpencodeEvent): { id: string; at: string } => ({
  id: source.id,
  at: timeOf(source.data.timestamp),
})
