import type { EventData } from '../../schema/events/event-table.ts'
import { requestName } from '../log/rules/names.ts'
import type { SessionRow } from '../log/load-session.ts'
import { entryOf } from '../log/session-state.ts'
import type { NamedEvent } from './read-named.ts'

/** A request that waits for its answer, as it was opened. */
export type OpenRequest = EventData<'request.opened'> & {
  readonly sessionId: string
  readonly status: 'open'
  readonly openedSeq: number
  readonly openedAt: string
}

/** The names that lead to a session's open requests. */
export const openRequestNames = ({ state }: SessionRow): string[] =>
  Object.keys(state.requests ?? {}).map(requestName)

/** The open requests among the named events, in the order in which they were opened. */
export const openRequestsOf = (
  { sessionId, state }: SessionRow,
  events: readonly NamedEvent[],
): OpenRequest[] =>
  events.flatMap((event): OpenRequest[] => {
    if (event.type !== 'request.opened') return []
    const data = JSON.parse(event.data) as EventData<'request.opened'>
    if (!entryOf(state.requests, data.requestId)) return []
    const { seq: openedSeq, occurredAt: openedAt } = event
    return [{ sessionId, status: 'open', ...data, openedSeq, openedAt }]
  })
