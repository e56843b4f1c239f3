import { Refusal } from '../../schema/errors.ts'
import type { LiveFrame } from '../../schema/socket/live.ts'

/** The turn that runs, as far as is known here. */
export type RunningTurn = { readonly turnId: string; readonly fence: number } | undefined

/**
 * Whether a frame may be passed on, by the same order of checks as an append of its owner (rule 5).
 * `unsure`: the frame knows of something newer than what is known here. Throws Refusal
 * `fence_required`, `fenced`, `no_turn`.
 */
export const checkFence = (
  turn: RunningTurn,
  { turnId, fence }: Pick<LiveFrame, 'turnId' | 'fence'>,
): 'ok' | 'unsure' => {
  if (turnId === undefined || fence === undefined) {
    if (turnId !== undefined || fence !== undefined) {
      throw new Refusal('invalid_body', 'turnId and fence are given together')
    }
    if (turn) throw new Refusal('fence_required', `turn ${turn.turnId} runs: name it and its fence`)
    return 'ok'
  }
  if (turn?.turnId === turnId && turn.fence === fence) return 'ok'
  if (turn && fence < turn.fence) {
    throw new Refusal('fenced', `turn ${turn.turnId} is held under fence ${turn.fence}`, {
      members: { turnId: turn.turnId, fence: turn.fence },
    })
  }
  return 'unsure'
}
