import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'

/** What stands in the log at a seq. */
export type EventAt = {
  readonly type: string
  readonly occurredAt: string
  readonly data: unknown
}

type Place = { readonly sid: number; readonly seq: number }

/** Finds the events at these places, in one look. Places may be missing: null is passed over. */
export const readEventsAt = async (
  connection: Connection,
  places: readonly (Place | null)[],
): Promise<(place: Place) => EventAt | undefined> => {
  const wanted = places.filter((place) => place !== null)
  const rows =
    wanted.length === 0
      ? []
      : await connection.query<{
          sid: number
          seq: number
          type: string
          occurred_at: string
          data: string
        }>(
          `select e.sid, e.seq, e.type, e.occurred_at, e.data::text as data
             from unnest($1::text::bigint[], $2::text::bigint[]) u(sid, seq)
               join stemma.event e on e.sid = u.sid and e.seq = u.seq`,
          [numberList(wanted.map(({ sid }) => sid)), numberList(wanted.map(({ seq }) => seq))],
        )
  const found = new Map(
    rows.map(({ sid, seq, type, occurred_at: occurredAt, data }): [string, EventAt] => [
      `${sid} ${seq}`,
      { type, occurredAt, data: JSON.parse(data) as unknown },
    ]),
  )
  return ({ sid, seq }) => found.get(`${sid} ${seq}`)
}
