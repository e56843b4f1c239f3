import {
  transcriptVersion,
  type MessageData,
  type MessageRow,
  type MessageType,
  type PartData,
  type PartRow,
  type TranscriptProgress,
} from '../../projections/transcript/rows.ts'
import type { Connection } from '../database/connection.ts'

/** How far a session's transcript is kept, and what its fold remembers. */
export type ProgressRow = {
  readonly seq: number
  readonly progress: TranscriptProgress
  readonly stalled?: { readonly seq: number; readonly code: string }
}

export const readProgress = async (connection: Connection, sid: number): Promise<ProgressRow> => {
  const [row] = await connection.query<{
    seq: number
    state: string
    stalled_seq: number | null
    stalled_code: string | null
  }>(
    `select seq, state::text as state, stalled_seq, stalled_code
       from stemma.transcript_progress where version = $1 and sid = $2`,
    [transcriptVersion, sid],
  )
  if (!row) return { seq: 0, progress: {} }
  return {
    seq: row.seq,
    progress: JSON.parse(row.state) as TranscriptProgress,
    ...(row.stalled_seq !== null && {
      stalled: { seq: row.stalled_seq, code: row.stalled_code ?? 'unknown' },
    }),
  }
}

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
  sid: number,
  messageIds: readonly string[],
): Promise<MessageRow[]> => {
  if (messageIds.length === 0) return []
  const rows = await connection.query<StoredMessage>(
    `select ${messageColumns} from stemma.transcript_message
       where version = $1 and sid = $2 and message_id = any (string_to_array($3, ' '))`,
    [transcriptVersion, sid, messageIds.join(' ')],
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
  sid: number,
  messageIds: readonly string[],
): Promise<PartRow[]> => {
  if (messageIds.length === 0) return []
  const rows = await connection.query<StoredPart>(
    `select ${partColumns} from stemma.transcript_part p
       where version = $1 and sid = $2 and message_id = any (string_to_array($3, ' '))`,
    [transcriptVersion, sid, messageIds.join(' ')],
  )
  return rows.map(partRow)
}

/** Some parts, each in every attempt that has it. */
export const readPartRows = async (
  connection: Connection,
  sid: number,
  parts: readonly { readonly messageId: string; readonly partId: string }[],
): Promise<PartRow[]> => {
  if (parts.length === 0) return []
  const rows = await connection.query<StoredPart>(
    `select ${partColumns}
       from unnest(string_to_array($3, ' '), string_to_array($4, ' ')) u(message_id, part_id)
       join stemma.transcript_part p on p.version = $1 and p.sid = $2
         and p.message_id = u.message_id and p.part_id = u.part_id`,
    [
      transcriptVersion,
      sid,
      parts.map((part) => part.messageId).join(' '),
      parts.map((part) => part.partId).join(' '),
    ],
  )
  return rows.map(partRow)
}
