import { Refusal } from '../../../schema/errors.ts'
import type { EventMeta } from '../../../schema/events/envelope.ts'
import { eventTable, type EventType } from '../../../schema/events/event-table.ts'
import { withMembers } from '../session-state.ts'
import { closingsBefore } from './closings.ts'
import { derivedEventId, type Draft } from './draft.ts'
import { inputRules } from './input-rules.ts'
import { contextRules, fileRules, otherRules } from './other-rules.ts'
import { partRules } from './part-rules.ts'
import { requestRules } from './request-rules.ts'
import type { Rule, RulesOf } from './rule.ts'
import { sessionRules } from './session-rules.ts'
import { stepRules } from './step-rules.ts'
import { turnRules } from './turn-rules.ts'

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

/** Facts that leave an importer's closings replaceable: they change nothing that was closed. */
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
    const closings = closingsBefore(draft.state, event.type, event.data, draft)
    closings.forEach((closing, index) => {
      const meta = ownerMeta(event.meta)
      applyEvent(
        draft,
        {
          eventId: derivedEventId(event.eventId, `closing ${index}`),
          type: closing.type,
          version: eventTable[closing.type].version,
          ...(event.occurredAt !== undefined && { occurredAt: event.occurredAt }),
          data: closing.data,
          meta,
        },
        true,
      )
    })
  }
  const rule = Object.hasOwn(rules, event.type)
    ? (rules[event.type as EventType] as Rule<EventType>)
    : undefined
  rule?.(draft, event.data as never)
  draft.head += 1
  draft.events.push({ ...event, seq: draft.head, ...(derived && { derived }) })
  keepImportBefore(draft, event.type)
}

const ownerMeta = (meta: EventMeta): EventMeta => ({
  ...(meta.turnId !== undefined && { turnId: meta.turnId }),
  ...(meta.fence !== undefined && { fence: meta.fence }),
  ...(meta.importClosing && { importClosing: true as const }),
})

const keepImportBefore = (draft: Draft, type: string): void => {
  const before = draft.state.importBefore
  if (!before || draft.importing || !harmlessToImports.has(type)) return
  // Once something else stands behind the closings, nothing harmless makes up for it.
  if (before.head !== draft.head - 1) return
  draft.state = withMembers(draft.state, { importBefore: { ...before, head: draft.head } })
}
