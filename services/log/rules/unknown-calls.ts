import { withMembers } from '../session-state.ts'
import type { Draft } from './draft.ts'

/** So many are kept: a turn that leaves more has other troubles. */
const mostKept = 8

/** A call of the turn is unknown, and whoever takes the turn over is told until it is resolved. */
export const keepUnknown = (draft: Draft, messageId: string, callId: string): void => {
  const { turn } = draft.state
  if (!turn || draft.importing) return
  const unknown = [...(turn.unknown ?? []), [messageId, callId] as const].slice(-mostKept)
  draft.state = withMembers(draft.state, { turn: { ...turn, unknown } })
}

/** It is known what became of the call. */
export const dropUnknown = (draft: Draft, messageId: string, callId: string): void => {
  const { turn } = draft.state
  if (!turn?.unknown) return
  const { unknown: before, ...rest } = turn
  const unknown = before.filter(([m, c]) => m !== messageId || c !== callId)
  draft.state = withMembers(draft.state, {
    turn: { ...rest, ...(unknown.length > 0 && { unknown }) },
  })
}
