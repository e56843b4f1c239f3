import { listTypes, type Lists } from '../../projections/lists/fold-lists.ts'
import { sessionsVersion } from '../../projections/sessions/session-info.ts'
import type { EventType } from '../../schema/events/event-table.ts'
import type { Connection } from '../database/connection.ts'
import { numberList } from '../database/lists.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readSessionsBySid, type SessionRow } from '../log/load-session.ts'
import { readHorizon } from '../log/read-horizon.ts'
import {
  holderKey,
  knownOf,
  newlyGone,
  readGoneOwners,
  type GoneOwners,
  type KnownGone,
} from './gone-owners.ts'
import { overlayOfTenant } from './list-overlay.ts'
import { readCurrentInfos } from './session-rows.ts'
import { workOf, type Work, type WorkOfSession } from './work-of.ts'

/** A moment: how far the log was complete, and which owners were known to be gone. */
export type WorkMark = { readonly position: number; readonly gone: KnownGone }

/**
 * Where a reader of work is: it has all that was work at `since` (undefined: nothing yet) and, of what
 * has become work until `at`, all up to `place`. With nothing left there, it is at `since` alone.
 */
export type WorkCursor = {
  readonly since?: WorkMark
  readonly walk?: { readonly at: WorkMark; readonly sid: number; readonly seq: number }
}

export type WorkQuery = {
  readonly tenant: number
  readonly limit: number
  readonly cursor: WorkCursor
  /** Sessions that are located on this host, or on none. */
  readonly host?: string
  readonly project?: string
}

export type WorkPage = {
  readonly data: readonly Work[]
  readonly next: WorkCursor
}

/**
 * What waits for an owner, in one snapshot: all of it, or what has become work since a moment. What
 * was listed and has changed hands, gone and come back is given again. While the whole is listed over
 * several pages, what becomes work meanwhile may come twice: in a later page and after the last.
 */
export const listWork = async (pool: Pool, query: WorkQuery): Promise<WorkPage> => {
  const { tenant, limit, cursor } = query
  const { since, walk } = cursor
  // Before the snapshot: all up to here is in it, and what commits late is found from here.
  const horizon = await pool.use(readHorizon)
  return runTransaction(
    pool,
    { isolation: 'repeatable read', readOnly: true },
    async (connection) => {
      const overlay = await overlayOfTenant(connection, tenant, listTypes)
      const gone = await readGoneOwners(connection, tenant, [...overlay.turns.values()])
      const at = walk?.at ?? { position: horizon, gone: knownOf(gone) }
      const news = since && (await readNews(connection, query, since, { gone, overlay }))
      const tail = news?.sids ?? changedSids(overlay)
      const found: WorkOfSession[] = []
      let from = walk?.sid ?? 0
      for (let isMore = true; isMore && found.length <= limit;) {
        const kept = await readCandidates(connection, tenant, from, {
          since: news?.gone,
          all: gone,
        })
        isMore = kept.length === batchSize
        const through = isMore ? kept.at(-1)! : Number.MAX_SAFE_INTEGER
        const sids = new Set([...kept, ...tail].filter((sid) => sid >= from && sid <= through))
        const shown = await readShown(connection, query, [...sids])
        const work = await workOf(connection, shown, gone)
        found.push(
          ...work.filter(
            (one) =>
              (!walk || one.sid > walk.sid || one.seq > walk.seq) &&
              (!news || news.isNew(one, at.position)),
          ),
        )
        from = through + 1
      }
      const page = found.slice(0, limit)
      const last = page.at(-1)
      return {
        data: page.map(({ sid: _s, holder: _h, ...work }) => work),
        next:
          found.length > limit && last
            ? { ...(since && { since }), walk: { at, sid: last.sid, seq: last.seq } }
            : { since: at },
      }
    },
  )
}

const batchSize = 500

const changedSids = ({ changed }: Lists): Set<number> =>
  new Set(
    Object.values(changed).flatMap((keys) => [...keys].map((key) => Number(key.split(' ', 1)[0]))),
  )

/** Sessions that may have work by the kept rows, in the order of sid; `since`: of owners gone since. */
const readCandidates = async (
  connection: Connection,
  tenant: number,
  from: number,
  gone: { readonly since: readonly Holder[] | undefined; readonly all: GoneOwners },
): Promise<number[]> => {
  const owners = gone.since ?? [...gone.all.values()]
  const rows = await connection.query<{ sid: number }>(gone.since ? goneSql : allSql, [
    sessionsVersion,
    tenant,
    from,
    owners.map(({ ownerId }) => ownerId).join(' '),
    numberList(owners.map(({ incarnation }) => incarnation)),
    batchSize,
  ])
  return rows.map(({ sid }) => sid)
}

const ofGoneOwners = `select t.sid
  from unnest(string_to_array($4, ' '), $5::text::bigint[]) g(owner_id, incarnation)
    join stemma.turn t on t.version = $1 and t.tenant = $2 and t.owner_id = g.owner_id
      and t.incarnation = g.incarnation and t.ended_seq is null and t.sid >= $3`

const goneSql = `${ofGoneOwners} order by sid limit $6`

const allSql = `${ofGoneOwners}
  union
  select t.sid from stemma.turn t
    where t.version = $1 and t.tenant = $2 and t.ended_seq is null and t.sid >= $3
      and (t.released or t.incarnation is null)
  union
  select w.sid from stemma.waiting w where w.version = $1 and w.tenant = $2 and w.sid >= $3
  order by sid limit $6`

/** Sessions that are there, not deleted, and pass the filters. */
const readShown = async (
  connection: Connection,
  { host, project }: WorkQuery,
  sids: readonly number[],
): Promise<SessionRow[]> => {
  const sessions = await readSessionsBySid(connection, sids)
  if (host === undefined && project === undefined) return sessions
  const infos = await readCurrentInfos(connection, sids)
  return sessions.filter(({ sid }) => {
    const info = infos.get(sid)?.info
    const where = info?.location?.host
    return (
      (host === undefined || where === undefined || where === host) &&
      (project === undefined || info?.project === project)
    )
  })
}

type Holder = { readonly ownerId: string; readonly incarnation: number }

/** What may have made work since a mark. */
type News = {
  readonly sids: ReadonlySet<number>
  /** Owners that are gone since. */
  readonly gone: readonly Holder[]
  /** Whether this became work after the mark and, as far as the log says so, until a position. */
  readonly isNew: (work: WorkOfSession, through: number) => boolean
}

/** Each by the item's own seq, but for those that make work of all that waits in their session. */
const makers = [
  'input.admitted',
  'request.answered',
  'turn.started',
  'turn.claimed',
  'turn.released',
  'turn.ended',
  'session.restored',
  'session.moved',
] as const satisfies readonly EventType[]

const readNews = async (
  connection: Connection,
  { tenant, host }: WorkQuery,
  since: WorkMark,
  { gone, overlay }: { readonly gone: GoneOwners; readonly overlay: Lists },
): Promise<News> => {
  const rows = await connection.query<{ sid: number; seq: number; position: number; type: string }>(
    `select sid, seq, position, type from stemma.event
       where tenant = $1 and position > $2 and type = any (string_to_array($3, ' '))`,
    [tenant, since.position, makers.join(' ')],
  )
  const events = Map.groupBy(rows, ({ sid }) => sid)
  const fresh = newlyGone(gone, since.gone)
  const holders = new Set(fresh.map((owner) => holderKey(owner.ownerId, owner.incarnation)))
  const makes = ({ seq, kind }: WorkOfSession, event: { seq: number; type: string }): boolean => {
    if (event.seq === seq) return true
    if (event.type === 'session.moved') return host !== undefined
    return kind !== 'turn' && (event.type === 'turn.ended' || event.type === 'session.restored')
  }
  const inTail = [...overlay.turns.values()].flatMap(({ sid, ownerId, incarnation }) =>
    incarnation !== null && holders.has(holderKey(ownerId, incarnation)) ? [sid] : [],
  )
  return {
    sids: new Set([...events.keys(), ...inTail]),
    gone: fresh,
    isNew: (work, through) => {
      const made = (events.get(work.sid) ?? []).filter((event) => makes(work, event))
      const last = Math.max(0, ...made.map((event) => event.position))
      return last <= through && (last > 0 || holders.has(work.holder ?? ''))
    },
  }
}
