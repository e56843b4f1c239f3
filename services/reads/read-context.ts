import { keptFrom, summaryFirst } from '../../projections/context/from-summary.ts'
import { toContext, type ContextOptions } from '../../projections/context/to-context.ts'
import type { MessageRow } from '../../projections/transcript/rows.ts'
import { isShown } from '../../projections/transcript/shown-places.ts'
import type { Message } from '../../projections/transcript/to-message.ts'
import type { Context } from '../../schema/http/context.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import { inSnapshot } from './in-snapshot.ts'
import { openTranscript, pageRows, withParts, type Transcript } from './read-messages.ts'
import {
  messageColumns,
  messageRow,
  readMessageRows,
  type StoredMessage,
} from './transcript-rows.ts'

const pageSize = 500

/** What a model should see next, as of the log's head. */
export const readContext = async (
  pool: Pool,
  target: Target,
  options: ContextOptions = {},
): Promise<Context & { readonly asOfSeq: number }> =>
  inSnapshot(pool, target, async (connection, session) => {
    const source = await openTranscript(connection, session, undefined)
    const summary = await lastSummary(connection, source)
    const from = summary ? await firstPlace(connection, source, summary) : 0
    const messages: Message[] = []
    for (let after: number | undefined = from - 1; after !== undefined;) {
      const rows = await pageRows(connection, source, { limit: pageSize, order: 'asc', after })
      const page = rows.slice(0, pageSize).filter((row) => row.messageId !== summary?.messageId)
      messages.push(...(await withParts(connection, source, page, true)))
      after = rows.length > pageSize ? rows[pageSize - 1]!.place! : undefined
    }
    const [first] = summary ? await withParts(connection, source, [summary], false) : []
    return { ...toContext(summaryFirst(first, messages), options), asOfSeq: source.asOfSeq }
  })

/** The last completed compaction that is shown. */
const lastSummary = async (
  connection: Connection,
  source: Transcript,
): Promise<MessageRow | undefined> => {
  const kept = await connection.query<StoredMessage>(
    `select ${messageColumns} from stemma.transcript_message
       where version = $1 and sid = $2 and type = 'compaction' and place is not null`,
    [source.kept.generation, source.kept.sid],
  )
  const rows = new Map(kept.map((row) => [row.message_id, messageRow(row)]))
  for (const row of source.tail.view.messages.values()) rows.set(row.messageId, row)
  return [...rows.values()]
    .filter((row) => row.type === 'compaction' && row.data.status === 'completed')
    .filter((row) => isShown(source.shown, row))
    .toSorted((a, b) => a.place! - b.place!)
    .at(-1)
}

/** The place from which messages stay beside the summary. */
const firstPlace = async (
  connection: Connection,
  source: Transcript,
  summary: MessageRow,
): Promise<number> => {
  const place = summary.place!
  const messageId = summary.data.keepFromMessageId
  if (messageId === undefined) return keptFrom({ place })
  const [stored] = await readMessageRows(connection, source.kept, [messageId])
  const row = source.tail.view.messages.get(messageId) ?? stored
  return keptFrom({ place, keptPlace: row?.place ?? undefined })
}
