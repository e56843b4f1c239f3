import type { Connection } from '../../database/connection.ts'
import { firstDifference } from '../../json/first-difference.ts'
import type { Rebuild } from './rebuild.ts'

/** Where the rebuilt rows of a session are not the live ones. Payloads are not in it. */
export type Difference = {
  readonly sessionId: string
  /** `message msg_1`, `part msg_1/1/text-0`, or `progress`. */
  readonly row: string
  /** The column, with the place in it if it is JSON; or what is wrong with the row. */
  readonly what: string
}

const mostOfOneTable = 50

/** Compares what two generations keep of a session. Run it in one snapshot. */
export const compareRows = async (
  connection: Connection,
  { generation, replaces }: Rebuild,
  session: { readonly sid: number; readonly sessionId: string },
): Promise<Difference[]> => {
  const differences: Difference[] = []
  for (const table of tables) {
    const rows = await connection.query<Compared>(table.sql, [
      replaces,
      generation,
      session.sid,
      mostOfOneTable,
    ])
    for (const row of rows) {
      const what = differenceIn(row, table.columns)
      if (what === undefined) continue
      const key = table.key.map((column) => row[`key_${column}`]).join('/')
      const { sessionId } = session
      differences.push({ sessionId, row: `${table.row} ${key}`.trimEnd(), what })
    }
  }
  return differences
}

type Compared = { in_live: boolean; in_rebuilt: boolean } & Record<string, unknown>

/** Texts of JSON that differ may still be the same JSON. */
const differenceIn = (row: Compared, columns: readonly string[]): string | undefined => {
  if (!row.in_live) return 'is in the rebuilt rows and not in the live ones'
  if (!row.in_rebuilt) return 'is in the live rows and not in the rebuilt ones'
  for (const column of columns) {
    const [live, rebuilt] = [row[`live_${column}`], row[`rebuilt_${column}`]]
    if (live === rebuilt) continue
    if (!json.has(column)) return `column ${column}`
    const at = firstDifference(JSON.parse(live as string), JSON.parse(rebuilt as string))
    if (at !== undefined) return `column ${column}${at === '' ? '' : ` at ${at}`}`
  }
  return undefined
}

const json: ReadonlySet<string> = new Set(['data', 'state'])

const comparing = (
  table: string,
  row: string,
  key: readonly string[],
  columns: readonly string[],
  /** Rows that count; by default all. */
  those = 'true',
) => {
  const own = (side: string): string => columns.map((c) => `${side}.${c}::text`).join(', ')
  const sql = `select l.sid is not null as in_live, r.sid is not null as in_rebuilt,
      ${[
        ...key.map((c) => `coalesce(l.${c}, r.${c})::text as key_${c}`),
        ...columns.map((c) => `l.${c}::text as live_${c}, r.${c}::text as rebuilt_${c}`),
      ].join(', ')}
    from (select * from stemma.${table} where version = $1 and sid = $3 and ${those}) l
    full join (select * from stemma.${table} where version = $2 and sid = $3 and ${those}) r
      on ${['sid', ...key].map((c) => `l.${c} = r.${c}`).join(' and ')}
    where l.sid is null or r.sid is null or (${own('l')}) is distinct from (${own('r')})
    limit $4`
  return { row, key, columns, sql }
}

const tables = [
  comparing(
    'transcript_message',
    'message',
    ['message_id'],
    ['place', 'first_seq', 'last_seq', 'type', 'data'],
  ),
  comparing(
    'transcript_part',
    'part',
    ['message_id', 'attempt', 'part_id'],
    ['index', 'start_seq', 'end_seq', 'type', 'data'],
  ),
  // A try is counted in a row of its own before anything is folded: at 0 it says nothing.
  comparing('transcript_progress', 'progress', [], ['seq', 'state'], 'seq > 0'),
]
