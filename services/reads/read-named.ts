import type { Connection } from '../database/connection.ts'

export type NamedEvent = {
  readonly seq: number
  readonly type: string
  readonly occurredAt: string
  /** JSON text. */
  readonly data: string
}

/** The events that names of some sessions lead to, by sid and in order of seq. */
export const readNamed = async (
  connection: Connection,
  wanted: readonly { readonly sid: number; readonly names: readonly string[] }[],
): Promise<Map<number, NamedEvent[]>> => {
  const found = new Map<number, NamedEvent[]>(wanted.map(({ sid }) => [sid, []]))
  const all = wanted.flatMap(({ sid, names }) => names.map((name) => ({ sid, name })))
  if (all.length === 0) return found
  const rows = await connection.query<{
    sid: number
    seq: number
    type: string
    occurred_at: string
    data: string
  }>(
    `select e.sid, e.seq, e.type, e.occurred_at, e.data::text as data
       from unnest($1::text::bigint[], string_to_array($2, ' ')) u(sid, name)
         join stemma.name n on n.sid = u.sid and n.name = u.name
         join stemma.event e on e.sid = n.sid and e.seq = n.seq
       order by e.sid, e.seq`,
    [`{${all.map(({ sid }) => sid).join(',')}}`, all.map(({ name }) => name).join(' ')],
  )
  for (const { sid, seq, type, occurred_at: occurredAt, data } of rows) {
    found.get(sid)!.push({ seq, type, occurredAt, data })
  }
  return found
}
