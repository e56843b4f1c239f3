/**
 * What an append needs of an owner, checked under its lock in the call itself: `current`, this
 * incarnation is registered, has not ended and its lease holds; `lost`, the turns of this incarnation may be claimed.
 */
export type Guard = {
  readonly tenant: number
  readonly ownerId: string
  readonly incarnation: number
  readonly need: 'current' | 'lost'
}

/** An owner as the database sees it now (`stemma.owner_now_v1`). */
export type OwnerNow = {
  readonly incarnation: number
  readonly ended: boolean
  readonly lost: boolean
  /** When its lease ends if no heartbeat comes; null for one without a lease. */
  readonly lapsesAt: string | null
}
