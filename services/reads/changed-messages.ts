import { isShown } from '../../projections/transcript/shown-places.ts'
import type { Message } from '../../projections/transcript/to-message.ts'
import type { MessageRow } from '../../projections/transcript/rows.ts'
import type { Connection } from '../database/connection.ts'
import type { SessionRow } from '../log/load-session.ts'
import { openTranscript, withParts, type Transcript } from './read-messages.ts'
import { messageColumns, messageRow, type StoredMessage } from './transcript-rows.ts'

/** Messages that one session gives; where more were touched, its pages are read anew. */
const mostMessages = 200

export type Changed = {
  /** As a page of the head gives them, in order. */
  readonly changed: readonly Message[]
  /** Touched, and not shown. */
  readonly removed: readonly string[]
}

/**
 * The messages that events after a seq touched, as they are now. `long`: more messages, or more
 * bytes, than may be given; `stalled`: the transcript does not reach the head. Between `afterSeq` and
 * the head the lineage must not have changed.
 */
export const changedMessages = async (
  connection: Connection,
  session: SessionRow,
  afterSeq: number,
  mostBytes: number,
): Promise<Changed | 'long' | 'stalled'> => {
  // What was not touched is not read.
  if (afterSeq === session.headSeq) return { changed: [], removed: [] }
  const source = await openTranscript(connection, session, undefined)
  if (source.asOfSeq < session.headSeq) return 'stalled'
  const rows = [...(await keptRows(connection, source, afterSeq)), ...tailRows(source, afterSeq)]
  if (rows.length > mostMessages) return 'long'
  const shown = rows.filter((row) => isShown(source.shown, row))
  if ((await sizeOfParts(connection, source, shown)) > mostBytes) return 'long'
  const changed = await withParts(connection, source, shown, false)
  return {
    changed: changed.toSorted((a, b) => a.seq - b.seq),
    removed: rows.filter((row) => !isShown(source.shown, row)).map((row) => row.messageId),
  }
}

const tailRows = ({ tail }: Transcript, afterSeq: number): MessageRow[] =>
  [...tail.view.messages.values()].filter(
    ({ lastSeq, place }) => lastSeq > afterSeq && place !== null,
  )

/** Those that the tail has not touched since. A message's last seq is that of its parts, too. */
const keptRows = async (
  connection: Connection,
  { kept, tail }: Transcript,
  afterSeq: number,
): Promise<MessageRow[]> => {
  if (kept.seq <= afterSeq) return []
  // Without an index, which would have to be kept with every change of a message.
  const rows = await connection.query<StoredMessage>(
    `select ${messageColumns} from stemma.transcript_message
       where version = $1 and sid = $2 and last_seq > $3 and place is not null limit $4`,
    [kept.generation, kept.sid, afterSeq, mostMessages + 1],
  )
  return rows.map(messageRow).filter(({ messageId }) => !tail.view.messages.has(messageId))
}

/** What the kept parts of these messages would take, before any is read. */
const sizeOfParts = async (
  connection: Connection,
  { kept }: Transcript,
  rows: readonly MessageRow[],
): Promise<number> => {
  if (rows.length === 0) return 0
  const [row] = await connection.query<{ bytes: number }>(
    `select coalesce(sum(octet_length(data::text)), 0)::bigint as bytes
       from stemma.transcript_part
       where version = $1 and sid = $2 and message_id = any (string_to_array($3, ' '))`,
    [kept.generation, kept.sid, rows.map(({ messageId }) => messageId).join(' ')],
  )
  return row!.bytes
}
