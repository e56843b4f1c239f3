import { carriedOf, type Carried, type RowWithParts } from '../../projections/transcript/carried.ts'
import { partKey, type MessageRow, type PartRow } from '../../projections/transcript/rows.ts'
import {
  isShown,
  shownPlaces,
  type ShownPlaces,
} from '../../projections/transcript/shown-places.ts'
import { toMessage, type Message } from '../../projections/transcript/to-message.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import type { SessionRow } from '../log/load-session.ts'
import { foldTail, type Tail } from './fold-tail.ts'
import { inSnapshot } from './in-snapshot.ts'
import { readWaitingPrompts } from './read-waiting-prompts.ts'
import { refoldAt } from './refold-at.ts'
import {
  messageColumns,
  messageRow,
  readPartsOf,
  readProgress,
  type Kept,
  type StoredMessage,
} from './transcript-rows.ts'

export type MessagesQuery = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The place that the page begins behind, in the direction of `order`. */
  readonly after?: number
  readonly includeHidden?: boolean
  /** The transcript as it was at this seq. */
  readonly atSeq?: number
}

export type MessagesPage = {
  readonly data: readonly Message[]
  /** The place to go on behind; undefined at the end. */
  readonly next: number | undefined
  /** Whether something stands before the page's first message, in the direction of `order`. */
  readonly first: number | undefined
  readonly asOfSeq: number
  readonly stalled?: { readonly seq: number; readonly code: string }
  /** For a reader's fold to go on from; only of the log's head. */
  readonly fold?: Carried
}

/** A page of the transcript, never older than the log was when the read began. */
export const readMessages = async (
  pool: Pool,
  target: Target,
  query: MessagesQuery,
  onLongTail?: (sid: number) => void,
): Promise<MessagesPage> =>
  inSnapshot(pool, target, async (connection, session) => {
    const source = await openTranscript(connection, session, query.atSeq)
    if (source.tail.events > longTail) onLongTail?.(session.sid)
    const rows = await pageRows(connection, source, query)
    const page = rows.slice(0, query.limit)
    const more = rows.length > query.limit
    const includeHidden = query.includeHidden ?? false
    const loaded = await loadParts(connection, source, page)
    const reachesEnd = query.order === 'asc' ? !more : query.after === undefined
    return {
      data: loaded.map((message) => given(source, message, includeHidden)),
      next: more ? page.at(-1)!.place! : undefined,
      first: page[0]?.place ?? undefined,
      asOfSeq: source.asOfSeq,
      ...(source.tail.stalled && { stalled: source.tail.stalled }),
      // What was open at an earlier seq is not kept.
      ...(source.asOfSeq === session.headSeq && {
        fold: carriedOf(
          loaded,
          includeHidden,
          reachesEnd
            ? {
                progress: source.tail.view.progress,
                waiting: await readWaitingPrompts(connection, source),
              }
            : undefined,
        ),
      }),
    }
  })

/** A tail of more events than this is worth writing down. */
const longTail = 100

/** One message, hidden or not. Throws Refusal `message_not_found`. */
export const readMessage = async (
  pool: Pool,
  target: Target,
  messageId: string,
): Promise<{ readonly data: Message; readonly asOfSeq: number }> =>
  inSnapshot(pool, target, async (connection, session) => {
    const source = await openTranscript(connection, session, undefined)
    const kept = source.tail.view.messages.get(messageId)
    const [stored] = kept
      ? []
      : await connection.query<StoredMessage>(
          `select ${messageColumns} from stemma.transcript_message
             where version = $1 and sid = $2 and message_id = $3`,
          [source.kept.generation, session.sid, messageId],
        )
    const row = kept ?? (stored && messageRow(stored))
    if (!row || row.place === null) {
      throw new Refusal('message_not_found', `the session shows no message ${messageId}`)
    }
    const [data] = await withParts(connection, source, [row], true)
    return { data: data!, asOfSeq: source.asOfSeq }
  })

/** A session's transcript at a seq: the kept rows, and above them the folded tail. */
export type Transcript = {
  readonly session: SessionRow
  readonly tail: Tail
  readonly kept: Kept & { readonly seq: number }
  readonly asOfSeq: number
  readonly shown: ShownPlaces
}

export const openTranscript = async (
  connection: Connection,
  session: SessionRow,
  atSeq: number | undefined,
): Promise<Transcript> => {
  if (atSeq !== undefined && atSeq > session.headSeq) {
    throw new Refusal('invalid_query', `the session is at seq ${session.headSeq}`, {
      faults: [{ pointer: '/atSeq', detail: `is above the session's head, ${session.headSeq}` }],
    })
  }
  const through = atSeq ?? session.headSeq
  const kept = await readProgress(connection, session.sid)
  const tail = await foldTail(connection, session.sid, kept, through)
  const asOfSeq = Math.min(through, Math.max(tail.seq, kept.seq))
  const shown = shownPlaces(tail.view.progress, session.sessionId, asOfSeq)
  return { session, tail, kept: { ...kept, sid: session.sid }, asOfSeq, shown }
}

/** The page's rows and one more, if there is one. */
export const pageRows = async (
  connection: Connection,
  source: Transcript,
  query: MessagesQuery,
): Promise<MessageRow[]> => {
  const { tail, kept, asOfSeq, shown } = source
  const ascending = query.order === 'asc'
  const behind = query.after ?? (ascending ? 0 : Number.MAX_SAFE_INTEGER)
  const inOrder = (place: number): boolean => (ascending ? place > behind : place < behind)
  const wanted = query.limit + 1
  // What the tail placed stands above all that is kept.
  const added = [...tail.view.messages.values()]
    .filter((row) => row.place !== null && row.place > kept.seq && inOrder(row.place))
    .filter((row) => query.includeHidden || isShown(shown, row))
    .toSorted((a, b) => (ascending ? a.place! - b.place! : b.place! - a.place!))
  const ranges = query.includeHidden ? [{ from: 0, through: asOfSeq }] : shown.ranges
  const below = async (limit: number): Promise<MessageRow[]> => {
    const rows = await connection.query<StoredMessage>(ascending ? ascendingSql : descendingSql, [
      kept.generation,
      kept.sid,
      behind,
      limit,
      Math.min(kept.seq, asOfSeq),
      `{${ranges.map(({ from }) => from).join(',')}}`,
      `{${ranges.map(({ through }) => through).join(',')}}`,
      query.includeHidden ? '' : [...shown.except].join(' '),
    ])
    return rows.map(messageRow).map((row) => tail.view.messages.get(row.messageId) ?? row)
  }
  const rows = ascending
    ? [...(await below(wanted)), ...added]
    : [...added, ...(added.length < wanted ? await below(wanted - added.length) : [])]
  return rows.slice(0, wanted)
}

const keptSql = `select ${messageColumns} from stemma.transcript_message m
  where version = $1 and sid = $2 and place is not null and place <= $5
    and exists (select from unnest($6::text::bigint[], $7::text::bigint[]) r(f, t)
      where m.place between r.f and r.t)
    and not message_id = any (string_to_array($8, ' '))`
const ascendingSql = `${keptSql} and place > $3 order by place limit $4`
const descendingSql = `${keptSql} and place < $3 order by place desc limit $4`

/** Messages as they are given out: with their parts, and as they were at the transcript's seq. */
export const withParts = async (
  connection: Connection,
  source: Transcript,
  rows: readonly MessageRow[],
  includeHidden: boolean,
): Promise<Message[]> => {
  const loaded = await loadParts(connection, source, rows)
  return loaded.map((message) => given(source, message, includeHidden))
}

const given = (
  { session, shown }: Transcript,
  { row, parts }: RowWithParts,
  includeHidden: boolean,
): Message =>
  toMessage(session.sessionId, row, parts, { includeHidden, hidden: !isShown(shown, row) })

const loadParts = async (
  connection: Connection,
  source: Transcript,
  rows: readonly MessageRow[],
): Promise<RowWithParts[]> => {
  const { session, tail, asOfSeq } = source
  const later = rows.filter((row) => row.lastSeq > asOfSeq)
  const refolded =
    later.length > 0 ? await refoldAt(connection, session.sid, later, asOfSeq) : undefined
  const ids = rows.filter((row) => row.lastSeq <= asOfSeq).map((row) => row.messageId)
  const parts = new Map<string, PartRow[]>()
  const add = (part: PartRow): void => {
    const list = parts.get(part.messageId)
    if (list) list.push(part)
    else parts.set(part.messageId, [part])
  }
  const wanted = new Set(ids)
  const changed = tail.view.parts
  for (const part of await readPartsOf(connection, source.kept, ids)) {
    if (!changed.has(partKey(part.messageId, part.attempt, part.partId))) add(part)
  }
  for (const part of changed.values()) if (wanted.has(part.messageId)) add(part)
  for (const part of refolded?.parts.values() ?? []) add(part)
  return rows.flatMap((row) => {
    const current = row.lastSeq > asOfSeq ? refolded?.messages.get(row.messageId) : row
    return current ? [{ row: current, parts: parts.get(row.messageId) ?? [] }] : []
  })
}
