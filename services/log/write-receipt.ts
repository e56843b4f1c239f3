import type { Connection } from '../database/connection.ts'
import type { ReceiptRow } from './append-call.ts'
import type { Target } from './command.ts'
import type { Decidable } from './rules/decidable.ts'

/**
 * Leaves the receipt of a command that was accepted and adds no event, if the session is still the
 * one that it was decided on. The head is compared under the row's lock, as an append compares it: who
 * reads a later head sees this receipt or knows that it cannot come, so after a lost connection the
 * command is simply decided again. `conflict`: the head has moved. `taken`: the key has a receipt.
 */
export const writeReceipt = async (
  connection: Connection,
  { tenant, sessionId }: Target,
  { sid, head }: Decidable,
  receipt: ReceiptRow,
): Promise<'ok' | 'conflict' | 'taken'> => {
  const [row] = await connection.query<{ found: boolean; written: boolean }>(writeSql, [
    sid,
    tenant,
    sessionId,
    head,
    receipt.commandId,
    receipt.route,
    receipt.requestHash,
    receipt.status,
    receipt.firstSeq,
    receipt.lastSeq,
    JSON.stringify(receipt.result),
  ])
  if (!row!.found) return 'conflict'
  return row!.written ? 'ok' : 'taken'
}

const writeSql = `
with s as (
  select sid from stemma.session
    where sid = $1 and tenant = $2 and session_id = $3 and head = $4 for share),
w as (
  insert into stemma.receipt (sid, command_id, route, request_hash, status, seqs, result, created_at)
    select sid, $5, $6, $7, $8, int8range($9, $10, '[]'), $11::text::json,
        date_trunc('milliseconds', clock_timestamp()) from s
    on conflict do nothing returning sid)
select exists (select from s) as found, exists (select from w) as written`
