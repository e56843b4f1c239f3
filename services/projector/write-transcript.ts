import type { MessageRow, PartRow } from '../../projections/transcript/rows.ts'
import type { TranscriptView } from '../../projections/transcript/view.ts'
import type { Connection } from '../database/connection.ts'
import { numberList, textList } from '../database/lists.ts'
import type { Kept } from '../reads/transcript-rows.ts'

/** Writes the rows that a fold has changed into a generation. */
export const writeTranscript = async (
  connection: Connection,
  kept: Kept,
  view: TranscriptView,
): Promise<void> => {
  const messages = [...view.changedMessages].map((id) => view.messages.get(id)!)
  const parts = [...view.changedParts].map((key) => view.parts.get(key)!)
  if (messages.length > 0) await connection.query(messagesSql, messageParameters(kept, messages))
  if (parts.length > 0) await connection.query(partsSql, partParameters(kept, parts))
}

const messagesSql = `insert into stemma.transcript_message as m
    (version, sid, message_id, place, first_seq, last_seq, type, data)
  select $1, $2, u.message_id, u.place, u.first_seq, u.last_seq, u.type, u.data::json
    from unnest(string_to_array($3, chr(30)), $4::text::bigint[], $5::text::bigint[],
      $6::text::bigint[], string_to_array($7, chr(30)), string_to_array($8, chr(30)))
      u(message_id, place, first_seq, last_seq, type, data)
  on conflict (version, sid, message_id) do update
    set place = excluded.place, last_seq = excluded.last_seq, data = excluded.data`

const messageParameters = ({ generation, sid }: Kept, rows: readonly MessageRow[]): unknown[] => [
  generation,
  sid,
  textList(rows.map((row) => row.messageId)),
  numberList(rows.map((row) => row.place)),
  numberList(rows.map((row) => row.firstSeq)),
  numberList(rows.map((row) => row.lastSeq)),
  textList(rows.map((row) => row.type)),
  textList(rows.map((row) => JSON.stringify(row.data))),
]

const partsSql = `insert into stemma.transcript_part as p
    (version, sid, message_id, attempt, part_id, index, start_seq, end_seq, type, data)
  select $1, $2, u.message_id, u.attempt, u.part_id, u.index, u.start_seq, u.end_seq, u.type,
      u.data::json
    from unnest(string_to_array($3, chr(30)), $4::text::int[], string_to_array($5, chr(30)),
      $6::text::int[], $7::text::bigint[], $8::text::bigint[], string_to_array($9, chr(30)),
      string_to_array($10, chr(30)))
      u(message_id, attempt, part_id, index, start_seq, end_seq, type, data)
  on conflict (version, sid, message_id, attempt, part_id) do update
    set end_seq = excluded.end_seq, data = excluded.data`

const partParameters = ({ generation, sid }: Kept, rows: readonly PartRow[]): unknown[] => [
  generation,
  sid,
  textList(rows.map((row) => row.messageId)),
  numberList(rows.map((row) => row.attempt)),
  textList(rows.map((row) => row.partId)),
  numberList(rows.map((row) => row.index)),
  numberList(rows.map((row) => row.startSeq)),
  numberList(rows.map((row) => row.endSeq)),
  textList(rows.map((row) => row.type)),
  textList(rows.map((row) => JSON.stringify(row.data))),
]
