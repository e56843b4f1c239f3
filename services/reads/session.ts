import type { SessionInfo } from '../../projections/sessions/session-info.ts'
import { Refusal } from '../../schema/errors.ts'
import type { Pool } from '../database/pool.ts'
import type { Target } from '../log/command.ts'
import type { SessionRow } from '../log/load-session.ts'
import { sessionStatus } from '../log/session-state.ts'
import { inSnapshot } from './in-snapshot.ts'
import { readOwnersAlive } from './owners-alive.ts'
import { readCurrentInfos } from './session-rows.ts'

/** A session as it is given out: what is open comes from its row, the rest from its events. */
export type Session = Omit<SessionInfo, 'streamed' | 'deleted'> & {
  readonly sessionId: string
  readonly headSeq: number
  readonly status: 'idle' | 'running' | 'requires_action'
  /** Of the active turn: false if it may be claimed. */
  readonly ownerAlive?: boolean
  readonly turn?: { readonly turnId: string; readonly ownerId: string; readonly fence: number }
  readonly openRequests: readonly string[]
}

export const toSession = (
  row: Omit<SessionRow, 'tenant'>,
  info: SessionInfo,
  ownerAlive: boolean | undefined,
): Session => {
  const { streamed: _s, deleted: _d, ...rest } = info
  const { turn, requests } = row.state
  return {
    sessionId: row.sessionId,
    headSeq: row.headSeq,
    status: sessionStatus(row.state),
    ...(ownerAlive !== undefined && { ownerAlive }),
    ...(turn && { turn: { turnId: turn.turnId, ownerId: turn.ownerId, fence: turn.fence } }),
    openRequests: Object.keys(requests ?? {}),
    ...rest,
  }
}

/** Throws Refusal `session_not_found`, `session_deleted`. */
export const readSessionInfo = async (pool: Pool, target: Target): Promise<Session> =>
  inSnapshot(pool, target, async (connection, session) => {
    const infos = await readCurrentInfos(connection, [session.sid])
    const info = infos.get(session.sid)?.info
    if (!info) throw new Refusal('internal', 'a session without events')
    const alive = await readOwnersAlive(connection, [session])
    return toSession(session, info, alive.get(session.sid))
  })
