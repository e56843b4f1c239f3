import type {
  MessageData,
  MessageRow,
  MessageType,
  PartData,
  PartRow,
  TranscriptProgress,
} from '../../projections/transcript/rows.ts'
import type { Connection } from '../database/connection.ts'
import { transcriptGeneration } from './generation.ts'

/** How far a session's transcript is kept in a generation, and what its fold remembers. */
export type ProgressRow = {
  readonly generation: number
  readonly seq: number
  readonly progress: TranscriptProgress
  readonly stalled?: { readonly seq: number; readonly code: string }
}

/** Of the generation that is given, or else of the one that this build reads. */
export const readProgress = async (
  connection: Connection,
  sid: number,
  generation?: number,
): Promise<ProgressRow> => {
  const [row] = await connection.query<StoredProgress>(
    generation === undefined ? ownProgressSql : progressSql,
    generation === undefined ? [sid] : [sid, generation],
  )
  return progressRow(row!)
}

/** Null where the session has no row. */
export type StoredProgress = {
  generation: number
  seq: number | null
  state: string | null
  stalled_seq: number | null
  stalled_code: string | null
}

const progressColumns = `select g.version as generation, p.seq, p.state::text as state,
  p.stalled_seq, p.stalled_code`
const progressJoin =
  'left join stemma.transcript_progress p on p.version = g.version and p.sid = $1'
// Materialized: where a scalar is used twice, it would be looked up twice.
const ownProgressSql = `with g as materialized (select ${transcriptGeneration} as version)
  ${progressColumns} from g ${progressJoin}`
const progressSql = `${progressColumns} from (select $2::int as version) g ${progressJoin}`

export const progressRow = (row: StoredProgress): ProgressRow => {
  if (row.seq === null || row.state === null) {
    return { generation: row.generation, seq: 0, progress: {} }
  }
  return {
    generation: row.generation,
    seq: row.seq,
    progress: JSON.parse(row.state) as TranscriptProgress,
    ...(row.stalled_seq !== null && {
      stalled: { seq: row.stalled_seq, code: row.stalled_code ?? 'unknown' },
    }),
  }
}

/** Whose rows: a session's in a generation. */
export type Kept = { readonly generation: number; readonly sid: number }

export type StoredMessage = {
  message_id: string
  place: number | null
  first_seq: number
  last_seq: number
  type: MessageType
  data: string
}

export const messageColumns = 'message_id, place, first_seq, last_seq, type, data::text as data'

export const messageRow = (row: StoredMessage): MessageRow => ({
  messageId: row.message_id,
  place: row.place,
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  type: row.type,
  data: JSON.parse(row.data) as MessageData,
})

/** Ids hold no blank, so a list of them travels joined by one. */
export const readMessageRows = async (
  connection: Connection,
  { generation, sid }: Kept,
  messageIds: readonly string[],
): Promise<MessageRow[]> => {
  if (messageIds.length === 0) return []
  const rows = await connection.query<StoredMessage>(
    `select ${messageColumns} from stemma.transcript_message
       where version = $1 and sid = $2 and message_id = any (string_to_array($3, ' '))`,
    [generation, sid, messageIds.join(' ')],
  )
  return rows.map(messageRow)
}

type StoredPart = {
  message_id: string
  attempt: number
  part_id: string
  index: number
  start_seq: number
  end_seq: number | null
  type: PartRow['type']
  data: string
}

const partColumns = `p.message_id, p.attempt, p.part_id, p.index, p.start_seq, p.end_seq, p.type,
  p.data::text as data`

const partRow = (row: StoredPart): PartRow => ({
  messageId: row.message_id,
  attempt: row.attempt,
  partId: row.part_id,
  index: row.index,
  startSeq: row.start_seq,
  endSeq: row.end_seq,
  type: row.type,
  data: JSON.parse(row.data) as PartData,
})

/** All parts of some messages. */
export const readPartsOf = async (
  connection: Connection,
  { generation, sid }: Kept,
  messageIds: readonly string[],
): Promise<PartRow[]> => {
  if (messageIds.length === 0) return []
  const rows = await connection.query<StoredPart>(
    `select ${partColumns} from stemma.transcript_part p
       where version = $1 and sid = $2 and message_id = any (string_to_array($3, ' '))`,
    [generation, sid, messageIds.join(' ')],
  )
  return rows.map(partRow)
}

/** Some parts, each in every attempt that has it. */
export const readPartRows = async (
  connection: Connection,
  { generation, sid }: Kept,
  parts: readonly { readonly messageId: string; readonly partId: string }[],
): Promise<PartRow[]> => {
  if (parts.length === 0) return []
  const rows = await connection.query<StoredPart>(
    `select ${partColumns}
       from unnest(string_to_array($3, ' '), string_to_array($4, ' ')) u(message_id, part_id)
       join stemma.transcript_part p on p.version = $1 and p.sid = $2
         and p.message_id = u.message_id and p.part_id = u.part_id`,
    [
      generation,
      sid,
      parts.map((part) => part.messageId).join(' '),
      parts.map((part) => part.partId).join(' '),
    ],
  )
  return rows.map(partRow)
}
