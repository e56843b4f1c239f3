import { setTimeout as sleep } from 'node:timers/promises'
import type { RebuildJob } from './rebuild.ts'

export type Range = { readonly firstSid: number; readonly lastSid: number }
export type RangeTask = 'filled' | 'verified'

/** Who has not been heard of for so long has died: a claim is renewed with every chunk. */
const claimHoldsSeconds = 10
const lookEveryMs = 200

/**
 * The next range on which a task is to be done; undefined when all are done, or the job is stopped. A
 * range that another works on is waited for, and taken over from one that has died.
 */
export const claimRange = async (job: RebuildJob, task: RangeTask): Promise<Range | undefined> => {
  const { pool, rebuild, worker, signal } = job
  const key = [rebuild.name, rebuild.generation]
  while (!signal.aborted) {
    const [range] = await pool.use((connection) =>
      connection.query<Range>(claimSql[task], [...key, worker, claimHoldsSeconds]),
    )
    if (range) return range
    const [row] = await pool.use((connection) =>
      connection.query<{ left: boolean }>(leftSql[task], key),
    )
    if (!row!.left) return undefined
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {})
  }
  return undefined
}

/** Gives back what a job that is stopped has not finished: the next one need not wait. */
export const releaseRanges = async ({ pool, rebuild, worker }: RebuildJob): Promise<void> => {
  await pool.use((connection) =>
    connection.query(
      `update stemma.rebuild_range set claimed_by = null, claimed_at = null
         where name = $1 and version = $2 and claimed_by = $3`,
      [rebuild.name, rebuild.generation, worker],
    ),
  )
}

const claim = (task: RangeTask): string => `update stemma.rebuild_range
  set claimed_by = $3, claimed_at = now()
  where (name, version, first_sid) in (select name, version, first_sid from stemma.rebuild_range
    where name = $1 and version = $2 and not ${task}
      and (claimed_by is null or claimed_at < now() - make_interval(secs => $4::int))
    order by first_sid limit 1 for update skip locked)
  returning first_sid as "firstSid", last_sid as "lastSid"`
const claimSql = { filled: claim('filled'), verified: claim('verified') }

const left = (task: RangeTask): string => `select exists (select from stemma.rebuild_range
  where name = $1 and version = $2 and not ${task}) as left`
const leftSql = { filled: left('filled'), verified: left('verified') }
