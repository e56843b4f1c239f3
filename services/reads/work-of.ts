import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import type { SessionRow } from '../log/load-session.ts'
import { heldName, messageName, settledRequestName } from '../log/rules/names.ts'
import { followsSource } from '../log/session-state.ts'
import { holderKey, type GoneOwners } from './gone-owners.ts'

/**
 * What waits for an owner. `seq`: of the input's admission, of the answer, of the turn's last start,
 * claim or release.
 */
export type Work = {
  readonly sessionId: string
  readonly seq: number
} & (
  | { readonly kind: 'input'; readonly messageId: string }
  | { readonly kind: 'answer'; readonly requestId: string }
  | { readonly kind: 'turn'; readonly turnId: string; readonly fromFence: number }
)

/** `holder`: who is gone, where that alone makes a turn work. */
export type WorkOfSession = Work & { readonly sid: number; readonly holder?: string }

/**
 * What is work in these sessions, in the order of sid and seq. In a session whose turn is active it is
 * the turn, if its owner is gone or has released it, and nothing else: inputs and answers are its
 * owner's while it runs, and named by the report of who claims it. A deleted session has none, nor has
 * a copy that only its source has written to: there an owner of the source's is at it.
 */
export const workOf = async (
  connection: Connection,
  sessions: readonly SessionRow[],
  gone: GoneOwners,
): Promise<WorkOfSession[]> => {
  const found = sessions.flatMap((session) =>
    partsOf(session, gone).map((part) => ({
      sid: session.sid,
      sessionId: session.sessionId,
      ...part,
    })),
  )
  if (found.length === 0) return []
  const rows = await connection.query<{ o: number; seq: number }>(
    `select u.o, n.seq from unnest($1::text::bigint[], string_to_array($2, ' ')) with ordinality
         u(sid, name, o)
       join stemma.name n on n.sid = u.sid and n.name = u.name`,
    [numberList(found.map(({ sid }) => sid)), found.map(({ name }) => name).join(' ')],
  )
  const seqs = new Map(rows.map(({ o, seq }) => [o - 1, seq]))
  return found
    .map(({ name: _name, startedSeq, ...work }, index) => ({
      ...work,
      seq: seqs.get(index) ?? startedSeq ?? 0,
    }))
    .toSorted((a, b) => a.sid - b.sid || a.seq - b.seq)
}

type Part = (
  | { readonly kind: 'input'; readonly messageId: string }
  | { readonly kind: 'answer'; readonly requestId: string }
  | { readonly kind: 'turn'; readonly turnId: string; readonly fromFence: number }
) & { readonly name: string; readonly startedSeq?: number; readonly holder?: string }

const partsOf = ({ state, headSeq }: SessionRow, gone: GoneOwners): readonly Part[] => {
  const { turn, deleted, inputs = {}, answers = {} } = state
  if (deleted || followsSource(state, headSeq)) return []
  if (turn) {
    const { turnId, ownerId, incarnation, fence, startedSeq, released } = turn
    const holder =
      released || incarnation === undefined ? undefined : holderKey(ownerId, incarnation)
    if (holder !== undefined && !gone.has(holder)) return []
    const part = { turnId, fromFence: fence, name: heldName(turnId), startedSeq }
    return [{ kind: 'turn', ...part, ...(holder !== undefined && { holder }) }]
  }
  return [
    ...Object.keys(inputs).map((messageId): Part => ({
      kind: 'input',
      messageId,
      name: messageName(messageId),
    })),
    ...Object.keys(answers).map((requestId): Part => ({
      kind: 'answer',
      requestId,
      name: settledRequestName(requestId),
    })),
  ]
}
