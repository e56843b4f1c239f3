import { createHash } from 'node:crypto'
import type { Entry } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { TurnRow } from '../../projections/turns/turn-row.ts'
import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import { isId } from './list-event.ts'

/** Owners of active turns that do not hold them any more, by `holderKey`. */
export type GoneOwners = ReadonlyMap<string, GoneOwner>

type GoneOwner = {
  readonly ownerId: string
  readonly incarnation: number
  /** Names this going: another one, after a heartbeat between, has another digest. */
  readonly digest: string
  /** Milliseconds of the epoch, by the database's clock. */
  readonly at: number
}

/**
 * Which owners were known to be gone at a moment. Nothing in the log says that a lease has lapsed, and
 * what a clock says of an exit comes before its commit: so they are named, the latest of them, and
 * only of those before `floor` the time decides.
 */
export type KnownGone = { readonly floor: number; readonly digests: readonly string[] }

/** Together with the place in the log it must fit into a cursor. */
const mostNamed = 64

export const holderKey = (ownerId: string, incarnation: number): string =>
  `${ownerId} ${incarnation}`

/**
 * Of the owners that hold active turns, kept ones and those of the tail, the ones that are gone: by
 * the rule of a claim. Turns that were released, or that nobody registered holds, need no look.
 */
export const readGoneOwners = async (
  connection: Connection,
  tenant: number,
  tail: readonly Entry<TurnRow>[],
): Promise<GoneOwners> => {
  const held = tail.flatMap(({ ownerId, incarnation, endedSeq }) =>
    // The tail may hold what no row can.
    endedSeq === null && Number.isSafeInteger(incarnation) && isId(ownerId)
      ? [{ ownerId, incarnation }]
      : [],
  )
  const rows = await connection.query<{
    owner_id: string
    incarnation: number
    how: string
    at: number | null
  }>(goneSql, [
    sessionsVersion,
    tenant,
    held.map(({ ownerId }) => ownerId).join(' '),
    numberList(held.map(({ incarnation }) => incarnation)),
  ])
  return new Map(
    rows.map(({ owner_id: ownerId, incarnation, how, at }) => {
      const key = holderKey(ownerId, incarnation)
      const digest = createHash('sha256').update(`${key} ${how}`).digest().subarray(0, 6)
      const gone = { ownerId, incarnation, digest: digest.toString('base64url'), at: at ?? 0 }
      return [key, gone]
    }),
  )
}

const goneSql = `select h.owner_id, h.incarnation,
    case when n.incarnation is null then 'unknown' when n.incarnation <> h.incarnation then 'superseded'
      when n.ended then 'exited' else 'lapsed ' || n.lapses_at end as how,
    (extract(epoch from case when n.incarnation <> h.incarnation then o.registered_at else n.lost_at end)
      * 1000)::bigint as at
  from (
      select owner_id, incarnation from stemma.turn
        where version = $1 and tenant = $2 and ended_seq is null and incarnation is not null
      union
      select * from unnest(string_to_array($3, ' '), $4::text::bigint[])) h(owner_id, incarnation)
    left join stemma.owner o on o.tenant = $2 and o.owner_id = h.owner_id
    left join lateral stemma.owner_now_v1($2, h.owner_id) n on true
  where n.incarnation is null or n.incarnation <> h.incarnation or n.lost`

export const knownOf = (gone: GoneOwners): KnownGone => {
  const latest = [...gone.values()].toSorted((a, b) => b.at - a.at)
  return {
    floor: latest[mostNamed]?.at ?? -1,
    digests: latest.slice(0, mostNamed).map(({ digest }) => digest),
  }
}

/** Those that are gone now and were not known to be. */
export const newlyGone = (gone: GoneOwners, known: KnownGone): GoneOwner[] => {
  const digests = new Set(known.digests)
  return [...gone.values()].filter(({ digest, at }) => !digests.has(digest) && at > known.floor)
}
