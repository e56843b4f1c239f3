import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { WaitingRow } from './waiting-row.ts'

/** Beside these, `turn.started` takes answers up and `request.answered` gives them. */
export const inputTypes = [
  'input.admitted',
  'input.delivered',
  'input.cancelled',
] as const satisfies readonly EventType[]

export type WaitingChange =
  | { readonly waits: WaitingRow }
  | { readonly gone: Pick<WaitingRow, 'kind' | 'id'> }

/** What an event changes of what waits. `isTurnActive`: in its session, before the event. */
export const waitingChanges = (
  event: StoredEvent,
  isTurnActive: boolean,
): readonly WaitingChange[] => {
  switch (event.type) {
    case 'input.admitted':
      return [{ waits: { kind: 'input', id: event.data.messageId, seq: event.seq } }]
    case 'input.delivered':
    case 'input.cancelled':
      return [{ gone: { kind: 'input', id: event.data.messageId } }]
    case 'request.answered':
      // The owner of an active turn hears of it; nobody hears of this one.
      return isTurnActive
        ? []
        : [{ waits: { kind: 'answer', id: event.data.requestId, seq: event.seq } }]
    case 'turn.started':
      return (event.data.resumes ?? []).map((id) => ({ gone: { kind: 'answer', id } }))
    default:
      return []
  }
}
