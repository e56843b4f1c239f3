import type { MessageRow } from '../../projections/transcript/rows.ts'
import type { Connection } from '../database/connection.ts'
import type { Transcript } from './read-messages.ts'
import { readMessageRows } from './transcript-rows.ts'

/** The rows of the prompts that wait, in the order in which they were admitted. */
export const readWaitingPrompts = async (
  connection: Connection,
  { session, tail, kept: rows }: Transcript,
): Promise<MessageRow[]> => {
  const ids = Object.entries(session.state.inputs ?? {})
    .filter(([, input]) => input.kind === 'prompt')
    .map(([messageId]) => messageId)
  const added = ids.flatMap((messageId) => tail.view.messages.get(messageId) ?? [])
  const kept = await readMessageRows(
    connection,
    rows,
    ids.filter((messageId) => !tail.view.messages.has(messageId)),
  )
  return [...kept, ...added].toSorted((a, b) => a.firstSeq - b.firstSeq)
}
