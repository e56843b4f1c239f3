import { transcriptFold } from '../../../projections/transcript/rows.ts'
import { Refusal } from '../../../schema/errors.ts'
import type { Connection } from '../../database/connection.ts'
import type { Pool } from '../../database/pool.ts'
import { runTransaction } from '../../database/run-transaction.ts'
import type { Rebuild, RebuildOutcome, RebuildPhase } from './rebuild.ts'

export type OpenedRebuild = Rebuild & {
  readonly phase: RebuildPhase
  readonly outcome: RebuildOutcome | null
  /** Its rows must have been compared before they are made live. */
  readonly verify: boolean
  /** It had been begun before: by a process that was stopped, or by one that is at it now. */
  readonly joined: boolean
}

/**
 * Begins a rebuild, or joins the one that is under way: there is one at a time for a projection.
 * `verify` holds for all who work on it, once one has asked for it. Throws Refusal `rebuild_refused` where
 * this build's fold does not fit what is there.
 */
export const openRebuild = (
  pool: Pool,
  options: { readonly verify: boolean },
): Promise<OpenedRebuild> =>
  runTransaction(pool, {}, async (connection) => {
    // The row's lock lets one begin, and the others join it.
    const [live] = await connection.query<{ version: number; fold: number }>(
      `select l.live_version as version, g.fold from stemma.projection l
         join stemma.projection_generation g on g.name = l.name and g.version = l.live_version
         where l.name = $1 for update of l`,
      ['transcript'],
    )
    if (!live) throw new Error('the transcript has no live generation')
    const open = await readOpen(connection)
    const fold = open?.fold ?? transcriptFold
    if (fold !== transcriptFold) {
      throw new Refusal(
        'rebuild_refused',
        `a rebuild by fold ${fold} is under way, and this build has fold ${transcriptFold}: ` +
          'end it with that build, or discard it with --restart',
      )
    }
    if (live.fold > transcriptFold) {
      throw new Refusal(
        'rebuild_refused',
        `the live generation was made by fold ${live.fold}, and this build has the older fold ${transcriptFold}`,
      )
    }
    if (options.verify && live.fold !== transcriptFold) {
      throw new Refusal(
        'rebuild_refused',
        `the live generation was made by fold ${live.fold}, and this build has fold ${transcriptFold}: ` +
          'their rows may differ with good reason, so they cannot be compared',
      )
    }
    if (open) return join(connection, open, options.verify)
    return begin(connection, live.version, options.verify)
  })

type Open = Omit<OpenedRebuild, 'joined' | 'name'> & { readonly fold: number }

const readOpen = async (connection: Connection): Promise<Open | undefined> => {
  const [open] = await connection.query<Open>(
    `select r.version as generation, r.replaces, r.phase, r.outcome, r.verify, g.fold
       from stemma.rebuild r join stemma.projection_generation g using (name, version)
       where r.name = $1 and r.ended_at is null`,
    ['transcript'],
  )
  return open
}

/** What was found to differ is looked at again: it may have been mended since. */
const join = async (
  connection: Connection,
  { generation, replaces, phase, outcome, verify }: Open,
  wanted: boolean,
): Promise<OpenedRebuild> => {
  if (phase === 'differs') {
    await connection.query(
      `update stemma.rebuild_range set verified = false, verified_sessions = 0
         where name = $1 and version = $2`,
      ['transcript', generation],
    )
  }
  const must = phase === 'differs' ? wanted : verify || wanted
  await connection.query(
    `update stemma.rebuild set verify = $3,
         phase = case when phase = 'differs' then 'filling' else phase end,
         difference = case when phase = 'differs' then null else difference end
       where name = $1 and version = $2`,
    ['transcript', generation, must],
  )
  return {
    name: 'transcript',
    generation,
    replaces,
    phase: phase === 'differs' ? 'filling' : phase,
    outcome,
    verify: must,
    joined: true,
  }
}

const mostSessions = 100
/** So many ranges at least, if there are as many sessions: several jobs are to share them. */
const fewestRanges = 64

const begin = async (
  connection: Connection,
  replaces: number,
  verify: boolean,
): Promise<OpenedRebuild> => {
  const [drawn] = await connection.query<{ generation: number }>(
    `insert into stemma.projection_generation (name, version, fold, state)
       select $1::text, max(version) + 1, $2::int, 'filling' from stemma.projection_generation
         where name = $1
       returning version as generation`,
    ['transcript', transcriptFold],
  )
  const { generation } = drawn!
  await connection.query(
    `insert into stemma.rebuild (name, version, replaces, verify, phase)
       values ($1, $2, $3, $4, 'filling')`,
    ['transcript', generation, replaces, verify],
  )
  await addRanges(connection, generation)
  return {
    name: 'transcript',
    generation,
    replaces,
    phase: 'filling',
    outcome: null,
    verify,
    joined: false,
  }
}

/** Cuts the sessions above the last range into ranges. Whoever calls it holds a lock. */
export const addRanges = async (connection: Connection, generation: number): Promise<void> => {
  await connection.query(
    `insert into stemma.rebuild_range (name, version, first_sid, last_sid, sessions)
       select $1::text, $2::int, min(n.sid), max(n.sid), count(*)
         from (select sid, (row_number() over (order by sid) - 1)
             / greatest(1, least($3::int, count(*) over () / $4::int)) as range
           from stemma.session where sid > coalesce((select max(last_sid)
             from stemma.rebuild_range where name = $1 and version = $2), 0)) n
         group by n.range`,
    ['transcript', generation, mostSessions, fewestRanges],
  )
}
