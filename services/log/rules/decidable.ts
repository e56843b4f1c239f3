import type { Outcome } from '../command.ts'
import { emptyState, type SessionState } from '../session-state.ts'

/** A session as it is decided on; `sid` 0 stands for a session that is not there. */
export type Decidable = {
  readonly sid: number
  readonly head: number
  readonly state: SessionState
}

export const absentSession: Decidable = { sid: 0, head: 0, state: emptyState }

/** Members of an outcome that only some commands have. */
export type Extra = Pick<Outcome, 'turn' | 'answer'> & { readonly skipped?: number }
