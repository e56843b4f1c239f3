import { Refusal } from '../../../schema/errors.ts'
import type { EventMeta } from '../../../schema/events/envelope.ts'
import { eventTable, type EventData, type EventType } from '../../../schema/events/event-table.ts'
import { withMembers } from '../session-state.ts'
import { closingsBefore, type Closing } from './closings.ts'
import { derivedEventId, type Draft } from './draft.ts'
import { inputRules } from './input-rules.ts'
import { contextRules, fileRules, otherRules } from './other-rules.ts'
import { partRules } from './part-rules.ts'
import { requestRules } from './request-rules.ts'
import type { Rule, RulesOf } from './rule.ts'
import { sessionRules } from './session-rules.ts'
import { stepRules } from './step-rules.ts'
import { turnRules, withInterruption } from './turn-rules.ts'

/** One rule for every type of the table: a type without a rule does not compile. */
const rules: RulesOf<EventType> = {
  ...sessionRules,
  ...inputRules,
  ...turnRules,
  ...stepRules,
  ...partRules,
  ...requestRules,
  ...contextRules,
  ...fileRules,
  ...otherRules,
}

export type IncomingEvent = {
  readonly eventId: string
  readonly type: string
  readonly version: number
  readonly occurredAt?: string
  readonly data: unknown
  readonly meta: EventMeta
}

/** Facts that leave a copy of a source one: its importer may go on, and replace its closings. */
const harmlessToImports: ReadonlySet<string> = new Set([
  'session.renamed',
  'session.metadata.updated',
  'session.moved',
  'session.viewed',
  'session.archived',
  'session.unarchived',
])

/**
 * Applies one event to the draft: first what must be closed before it, each as an event of its own,
 * then the event. Throws `Refusal` (the command is refused) or `LookupNeeded`.
 */
export const applyEvent = (draft: Draft, event: IncomingEvent, derived?: true): void => {
  if (draft.state.deleted && event.type !== 'session.restored' && event.type !== 'part.redacted') {
    throw new Refusal('session_deleted', `session ${draft.sessionId} is deleted`)
  }
  if (!derived) {
    applyClosings(draft, closingsBefore(draft.state, event.type, event.data, draft), event)
  }
  const rule = Object.hasOwn(rules, event.type)
    ? (rules[event.type as EventType] as Rule<EventType>)
    : undefined
  rule?.(draft, event.data as never, derived ?? false)
  draft.head += 1
  draft.events.push({ ...event, seq: draft.head, ...(derived && { derived }) })
  keepImportBefore(draft, event.type)
}

/** An event that the store writes. */
export const storeEvent = <T extends EventType>(
  eventId: string,
  type: T,
  data: EventData<T>,
): IncomingEvent => ({ eventId, type, version: eventTable[type].version, data, meta: {} })

const ownerMeta = (meta: EventMeta): EventMeta => ({
  ...(meta.turnId !== undefined && { turnId: meta.turnId }),
  ...(meta.fence !== undefined && { fence: meta.fence }),
  ...(meta.importClosing && { importClosing: true as const }),
})

/** Closings, each as an event of its own, in the name of the event that causes them. */
export const applyClosings = (
  draft: Draft,
  closings: readonly Closing[],
  cause: Pick<IncomingEvent, 'eventId' | 'occurredAt' | 'meta'>,
): void =>
  closings.forEach(({ type, data }, index) =>
    applyEvent(
      draft,
      {
        eventId: derivedEventId(cause.eventId, `closing ${index}`),
        type,
        version: eventTable[type].version,
        ...(cause.occurredAt !== undefined && { occurredAt: cause.occurredAt }),
        data: type === 'turn.ended' ? withInterruption(draft, data) : data,
        meta: ownerMeta(cause.meta),
      },
      true,
    ),
  )

const keepImportBefore = (draft: Draft, type: string): void => {
  const before = draft.state.importBefore
  if (!before || draft.importing || !harmlessToImports.has(type)) return
  // Once something else stands behind the closings, nothing harmless makes up for it.
  if (before.head !== draft.head - 1) return
  draft.state = withMembers(draft.state, { importBefore: { ...before, head: draft.head } })
}
