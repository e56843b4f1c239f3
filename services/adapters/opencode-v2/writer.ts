import { eventTable, type EventData, type EventType } from '../../../schema/events/event-table.ts'
import { deriveId } from '../../log/new-id.ts'
import type { TranslatedEvent } from '../translation.ts'
import type { Notes, SourceEvent } from './source.ts'

/** What is open at a place of the source, and the events that were made up to it. */
export type Writer = Notes & {
  readonly sessionId: string
  readonly events: TranslatedEvent[]
  /** Ids of messages that are there. */
  readonly messages: Set<string>
  readonly inputs: Map<string, SourceInput>
  fence: number
  turn: { readonly turnId: string; readonly fence: number } | undefined
  step: SourceStep | undefined
}

export type SourceInput = {
  /** The prompt as it was admitted, as canonical JSON. */
  readonly prompt: string
  delivered: boolean
}

export type SourceStep = {
  readonly messageId: string
  /** As the source calls it: two steps of one message are two messages here. */
  readonly sourceId: string
  /** Ids of parts that the message has. */
  readonly partIds: Set<string>
  /** Open text and reasoning, by kind and the source's id. */
  readonly parts: Map<string, { readonly partId: string; readonly kind: 'text' | 'reasoning' }>
  /** Unsettled calls, by the source's id. */
  readonly calls: Map<string, SourceCall>
  /** A call of it failed because a person interrupted. */
  interrupted: boolean
}

export type SourceCall = {
  readonly callId: string
  readonly name: string
  called: boolean
  /** The provider runs it, not the host. */
  byProvider: boolean
  dispatched: boolean
  inputEnded: boolean
  /** The question that is open for it. */
  requestId?: string
}

export type Translate = (writer: Writer, source: SourceEvent) => void

export const newWriter = (sessionId: string, notes: Notes): Writer => ({
  ...notes,
  sessionId,
  events: [],
  messages: new Set(),
  inputs: new Map(),
  fence: 0,
  turn: undefined,
  step: undefined,
})

/**
 * Writes an event of the source under its own id. Members of it that nothing has taken go to
 * `meta.opencode`, with its place in the source: so this comes after all of them were.
 */
export const write = <T extends EventType>(
  writer: Writer,
  source: SourceEvent,
  type: T,
  data: EventData<T>,
): void => {
  writer.events.push({
    eventId: source.id,
    type,
    version: eventTable[type].version,
    occurredAt: source.at,
    data,
    meta: { opencode: { ...placeOf(source), ...source.members.rest() } },
  })
}

/** What an event that the source implies follows from. */
export type Cause = { readonly id: string; readonly at: string; readonly closing?: true }

/** Writes an event that the source only implies; its id follows from the one that implies it. */
export const derive = <T extends EventType>(
  writer: Writer,
  cause: Cause,
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
export const keepForeign = (writer: Writer, source: SourceEvent, why?: string): void => {
  const name = source.type.replaceAll(/[^A-Za-z0-9._:~-]/g, '-').slice(0, 117)
  const type = `x.opencode.${name || 'event'}`
  const renamed = type.endsWith(`.${source.type}`) ? {} : { type: source.type }
  writer.events.push({
    eventId: source.id,
    type,
    version: 1,
    occurredAt: source.at,
    data: source.data,
    meta: { opencode: { ...placeOf(source), ...renamed } },
  })
  if (why) writer.mended.add(`event ${source.id} is kept as ${type}: ${why}`)
}

const placeOf = ({ durable, beside }: SourceEvent): Readonly<Record<string, unknown>> => {
  const place = durable.rest()
  const event = beside.rest()
  return {
    ...(Object.keys(place).length > 0 && { durable: place }),
    ...(Object.keys(event).length > 0 && { event }),
  }
}

/** The id for a new message: the source's, unless there is none or it is taken. */
export const newMessageId = (
  writer: Writer,
  source: SourceEvent,
  named: string | undefined,
): string => {
  const taken = named === undefined || writer.messages.has(named)
  const messageId = taken ? deriveId('msg', writer.sessionId, source.id) : named
  if (taken) {
    const why = named === undefined ? 'had no id' : `has the id ${named}, which is taken`
    writer.mended.add(`the message of event ${source.id} ${why}: it is now ${messageId}`)
  }
  writer.messages.add(messageId)
  return messageId
}

/** The id for a new part of the step: the source's, unless it is taken. */
export const newPartId = (writer: Writer, step: SourceStep, named: string): string => {
  let partId = named
  for (let n = 2; step.partIds.has(partId); n += 1) partId = `${named.slice(0, 120)}~${n}`
  if (partId !== named) {
    writer.mended.add(
      `part ${named} of message ${step.messageId} is there again: it is now ${partId}`,
    )
  }
  step.partIds.add(partId)
  return partId
}

export const startTurn = (writer: Writer, cause: Cause, inputs: string[]): void => {
  writer.fence += 1
  const turnId = deriveId('trn', writer.sessionId, cause.id)
  writer.turn = { turnId, fence: writer.fence }
  derive(writer, cause, 'turn started', 'turn.started', {
    turnId,
    ownerId: 'opencode',
    fence: writer.fence,
    inputs,
  })
}

export const endTurn = (
  writer: Writer,
  cause: Cause,
  outcome: EventData<'turn.ended'>['outcome'],
): void => {
  if (!writer.turn) return
  derive(writer, cause, 'turn ended', 'turn.ended', { ...writer.turn, outcome })
  writer.turn = undefined
}
