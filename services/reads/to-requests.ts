import type { Entry } from '../../projections/lists/fold-lists.ts'
import type { RequestRow } from '../../projections/requests/request-row.ts'
import type { EventData } from '../../schema/events/event-table.ts'
import type { Connection } from '../database/connection.ts'
import { readEventsAt } from './events-at.ts'

/** A request as it is given out: what was asked, and what became of it. */
export type Request = EventData<'request.opened'> & {
  readonly sessionId: string
  readonly status: RequestRow['status']
  readonly openedSeq: number
  readonly openedAt: string
  readonly settledSeq?: number
  readonly settledAt?: string
  readonly answer?: Omit<EventData<'request.answered'>, 'requestId'>
  readonly closed?: Omit<EventData<'request.closed'>, 'requestId'>
}

/** Rows with what the log says of them. */
export const toRequests = async (
  connection: Connection,
  rows: readonly (Entry<RequestRow> & { readonly sessionId: string })[],
): Promise<Request[]> => {
  const eventAt = await readEventsAt(
    connection,
    rows.flatMap(({ sid, openedSeq, settledSeq }) =>
      [openedSeq, settledSeq].map((seq) => (seq === null ? null : { sid, seq })),
    ),
  )
  return rows.map(({ sid, sessionId, status, openedSeq, openedAt, settledSeq, settledAt }) => {
    const opened = eventAt({ sid, seq: openedSeq })!.data as EventData<'request.opened'>
    const how = settledSeq === null ? undefined : eventAt({ sid, seq: settledSeq })!.data
    const settled = how as { requestId: string } | undefined
    const { requestId: _, ...rest } = settled ?? { requestId: '' }
    return {
      ...opened,
      sessionId,
      status,
      openedSeq,
      openedAt,
      ...(settledSeq !== null && { settledSeq, settledAt: settledAt! }),
      ...(status === 'answered' && { answer: rest as NonNullable<Request['answer']> }),
      ...(status === 'closed' && { closed: rest as NonNullable<Request['closed']> }),
    }
  })
}
