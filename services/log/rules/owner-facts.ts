import { Refusal } from '../../../schema/errors.ts'
import type { OwnerNow } from '../guard.ts'
import type { OpenTurn, SessionState } from '../session-state.ts'
import { lookup, type Draft } from './draft.ts'
import { childFact, clockFact, ownerFact } from './names.ts'

export type Incarnated = { readonly ownerId: string; readonly incarnation: number }

/** The owner must be this incarnation, and there: now, and when the append is stored. */
export const needCurrent = (draft: Draft, { ownerId, incarnation }: Incarnated): void => {
  const owner = ownerNow(draft, ownerId)
  if (!owner) throw new Refusal('owner_not_found', `no owner ${ownerId} has registered`)
  if (incarnation < owner.incarnation) throw ownerSuperseded(ownerId, owner.incarnation)
  if (incarnation > owner.incarnation) {
    throw new Refusal('wrong_state', `incarnation ${incarnation} of ${ownerId} was never given out`)
  }
  if (owner.ended) throw ownerExited(ownerId, incarnation)
  // Its new turn could be claimed at once by anybody.
  if (owner.lost) throw ownerLapsed(ownerId, incarnation)
  draft.guards.push({ tenant: draft.tenant, ownerId, incarnation, need: 'current' })
}

export const ownerSuperseded = (ownerId: string, current: number): Refusal =>
  new Refusal('owner_superseded', `owner ${ownerId} has registered again`, {
    members: { ownerId, incarnation: current },
  })

export const ownerExited = (ownerId: string, incarnation: number): Refusal =>
  new Refusal('owner_exited', `owner ${ownerId} has exited: it registers again to go on`, {
    members: { ownerId, incarnation },
  })

const ownerLapsed = (ownerId: string, incarnation: number): Refusal =>
  new Refusal(
    'owner_lapsed',
    `the lease of owner ${ownerId} has lapsed: it sends a heartbeat first`,
    {
      members: { ownerId, incarnation },
    },
  )

/**
 * Whether the turn's owner is gone, so that the turn may be claimed; then it must still be so when the
 * append is stored. `lapsesAt` tells when it may be asked again.
 */
export const isGone = (
  draft: Draft,
  turn: OpenTurn,
): { readonly gone: boolean; readonly lapsesAt?: string } => {
  if (turn.released) return { gone: true }
  const { ownerId, incarnation } = turn
  const owner = ownerNow(draft, ownerId)
  // Owners are never removed: without a row, or of an incarnation that was never given out here, the
  // turn came with an import, and nobody here holds it.
  if (!owner || incarnation === undefined || incarnation > owner.incarnation) return { gone: true }
  const gone = owner.incarnation > incarnation || owner.lost
  if (!gone) return { gone, ...(owner.lapsesAt !== null && { lapsesAt: owner.lapsesAt }) }
  draft.guards.push({ tenant: draft.tenant, ownerId, incarnation, need: 'lost' })
  return { gone }
}

/** Whether a child session runs: it has a turn, or work that waits. */
export const childRuns = (draft: Draft, sessionId: string): boolean => {
  const state = lookup(draft, childFact(sessionId))?.data as SessionState | undefined
  if (!state || state.deleted) return false
  return state.turn !== undefined || state.inputs !== undefined || state.requests !== undefined
}

/** The database's clock (ms). */
export const clockNow = (draft: Draft): number => lookup(draft, clockFact)!.at!

const ownerNow = (draft: Draft, ownerId: string): OwnerNow | undefined =>
  lookup(draft, ownerFact(ownerId))?.data as OwnerNow | undefined
