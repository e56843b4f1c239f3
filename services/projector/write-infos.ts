import { plainText } from '../../projections/sessions/plain-text.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { Connection } from '../database/connection.ts'
import { booleanList, numberList, textList } from '../database/lists.ts'
import type { PlacedEvent } from '../reads/list-event.ts'
import { foldInfoEvent, readInfoRows, type InfoRow } from '../reads/session-rows.ts'

/** Folds events into the rows of the list of sessions and writes these, each once. */
export const writeInfos = async (
  connection: Connection,
  events: readonly PlacedEvent[],
): Promise<void> => {
  const infos = new Map<number, InfoRow>()
  const tenants = new Map<number, number>()
  for (const { sid, tenant } of events) tenants.set(sid, tenant)
  for (const row of await readInfoRows(connection, [...tenants.keys()])) infos.set(row.sid, row)
  for (const event of events) {
    const before = infos.get(event.sid) ?? { sid: event.sid, seq: 0, touched: 0, info: undefined }
    infos.set(event.sid, foldInfoEvent(before, event))
  }
  const rows = [...infos.values()].flatMap((row) => (row.info ? [{ ...row, info: row.info }] : []))
  if (rows.length === 0) return
  await connection.query(writeSql, [
    sessionsVersion,
    numberList(rows.map((row) => row.sid)),
    numberList(rows.map((row) => tenants.get(row.sid)!)),
    numberList(rows.map((row) => row.seq)),
    numberList(rows.map((row) => row.touched)),
    booleanList(rows.map(({ info }) => info.archived ?? false)),
    booleanList(rows.map(({ info }) => info.deleted ?? false)),
    textList(rows.map(({ info }) => plainText(info.project ?? ''))),
    textList(rows.map(({ info }) => plainText(info.parent?.sessionId ?? ''))),
    textList(rows.map(({ info }) => plainText(info.title ?? ''))),
    textList(rows.map(({ info }) => JSON.stringify(info))),
  ])
}

const writeSql = `insert into stemma.session_info as s
    (version, sid, tenant, seq, touched, archived, deleted, project, parent, title, data)
  select $1, u.sid, u.tenant, u.seq, u.touched, u.archived, u.deleted, nullif(u.project, ''),
      nullif(u.parent, ''), coalesce(u.title, ''), u.data::json
    from unnest($2::text::bigint[], $3::text::int[], $4::text::bigint[], $5::text::bigint[],
      $6::text::boolean[], $7::text::boolean[], string_to_array($8, chr(30)),
      string_to_array($9, chr(30)), string_to_array($10, chr(30)), string_to_array($11, chr(30)))
      u(sid, tenant, seq, touched, archived, deleted, project, parent, title, data)
  on conflict (version, sid) do update
    set seq = excluded.seq, touched = excluded.touched, archived = excluded.archived,
      deleted = excluded.deleted, project = excluded.project, parent = excluded.parent,
      title = excluded.title, data = excluded.data
    where s.seq < excluded.seq`
