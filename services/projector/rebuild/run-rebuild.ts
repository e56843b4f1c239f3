import { randomUUID } from 'node:crypto'
import { Refusal } from '../../../schema/errors.ts'
import type { Pool } from '../../database/pool.ts'
import { runTransaction } from '../../database/run-transaction.ts'
import { catchUp } from './catch-up.ts'
import { releaseRanges } from './claim-range.ts'
import type { Difference } from './compare-rows.ts'
import { endRebuild, giveUp } from './end-rebuild.ts'
import { fillRanges } from './fill-ranges.ts'
import { makeLive } from './make-live.ts'
import { addRanges, openRebuild, type OpenedRebuild } from './open-rebuild.ts'
import { readRebuild } from './read-rebuild.ts'
import type { Rebuild, RebuildJob } from './rebuild.ts'
import { removeGenerations } from './remove-generations.ts'
import { differenceText, verifyRanges } from './verify-ranges.ts'

export type RebuildOptions = {
  /** Compares the rebuilt rows with the live ones before they are made live. */
  readonly verify: boolean
  /** Compares, and makes nothing live. */
  readonly verifyOnly: boolean
  /** Leaves the rows of the generation that was live, or that was compared only. */
  readonly keep: boolean
  /** Sessions that are worked on at once. */
  readonly workers: number
  readonly signal: AbortSignal
  /** Told which rebuild it is, when it is known. */
  readonly onOpened?: (opened: OpenedRebuild) => void
  readonly onDifference?: (difference: Difference) => void
}

export type RebuildResult = {
  readonly generation: number
  readonly outcome: 'live' | 'checked' | 'stopped' | 'differs'
  /** The first difference, if the rows differ. */
  readonly difference?: string
}

/**
 * Rebuilds the transcript beside the live one, and makes it live. What is done is kept in the
 * database: run it again after it was stopped or killed, or run it several times side by side.
 * Throws Refusal `rebuild_refused` where that cannot be.
 */
export const runRebuild = async (pool: Pool, options: RebuildOptions): Promise<RebuildResult> => {
  const rebuild = await openOwn(pool, options)
  if (!rebuild) return { generation: 0, outcome: 'stopped' }
  options.onOpened?.(rebuild)
  const run = randomUUID()
  // One that fails stops the others: nothing of it goes on behind the error.
  const failed = new AbortController()
  const jobs = Array.from({ length: options.workers }, (_, n): RebuildJob => ({
    pool,
    rebuild,
    worker: `${run}/${n}`,
    signal: AbortSignal.any([options.signal, failed.signal]),
  }))
  const together: Together = async (work) => {
    const ended = await Promise.allSettled(
      jobs.map((job) =>
        work(job).catch((error: unknown) => {
          failed.abort()
          throw error
        }),
      ),
    )
    const failure = ended.find((end) => end.status === 'rejected')
    if (failure) throw failure.reason
  }
  const { generation } = rebuild
  try {
    for (let made = rebuild.phase === 'removing'; !made;) {
      const difference = await compute(jobs[0]!, together, options)
      if (options.signal.aborted) return { generation, outcome: 'stopped' }
      if (difference !== undefined) return { generation, outcome: 'differs', difference }
      if (options.verifyOnly) await giveUp(pool, rebuild, 'checked')
      // Another job may have asked meanwhile that it be compared.
      made = options.verifyOnly || (await makeLive(pool, rebuild)) !== 'unverified'
    }
  } finally {
    // What is not given back is taken over after a while; and why it could not be is known already.
    for (const job of jobs) await releaseRanges(job).catch(() => {})
  }
  const keepFilled = options.verifyOnly && options.keep
  const ended = keepFilled || (await removeGenerations(pool, rebuild.name, options))
  if (!ended) return { generation, outcome: 'stopped' }
  await endRebuild(pool, rebuild)
  const { outcome } = (await readRebuild(pool, rebuild.name, generation))!
  if (outcome === 'live' || outcome === 'checked') return { generation, outcome }
  throw new Refusal('rebuild_refused', 'the rebuild was discarded')
}

/** The rebuild that is to be worked on; a discarded one is removed to its end before. */
const openOwn = async (pool: Pool, options: RebuildOptions): Promise<OpenedRebuild | undefined> => {
  for (;;) {
    const opened = await openRebuild(pool, { verify: options.verify || options.verifyOnly })
    if (opened.outcome !== 'discarded') return opened
    const { signal } = options
    if (!(await removeGenerations(pool, opened.name, { keep: true, signal }))) return undefined
    await endRebuild(pool, opened)
  }
}

type Together = (work: (job: RebuildJob) => Promise<void>) => Promise<void>

/** Fills, compares if asked, and catches up. Gives the first difference, if there is one. */
const compute = async (
  first: RebuildJob,
  together: Together,
  { onDifference = () => {} }: RebuildOptions,
): Promise<string | undefined> => {
  const { pool, rebuild, signal } = first
  await together(fillRanges)
  await catchUp(first)
  if (signal.aborted || !(await mustVerify(pool, rebuild))) return undefined
  let difference: string | undefined
  const note = (found: Difference): void => {
    difference ??= differenceText(found)
    onDifference(found)
  }
  await together((job) => verifyRanges(job, note))
  await catchUp(first)
  const progress = await readRebuild(pool, rebuild.name, rebuild.generation)
  return difference ?? progress?.difference ?? undefined
}

/** Another job may have asked for it meanwhile. Sessions that are new get ranges, too. */
const mustVerify = (pool: Pool, { name, generation }: Rebuild): Promise<boolean> =>
  runTransaction(pool, {}, async (connection) => {
    const [row] = await connection.query<{ verify: boolean }>(
      'select verify from stemma.rebuild where name = $1 and version = $2 for update',
      [name, generation],
    )
    if (!row?.verify) return false
    await addRanges(connection, generation)
    await connection.query(
      `update stemma.rebuild_range set filled = true, filled_sessions = sessions
         where name = $1 and version = $2 and not filled`,
      [name, generation],
    )
    await connection.query(
      `update stemma.rebuild set phase = 'verifying'
         where name = $1 and version = $2 and phase = 'filling'`,
      [name, generation],
    )
    return true
  })

/** Discards a rebuild that is under way, with what it has written. Gives whether there was one. */
export const discardRebuild = async (pool: Pool, signal: AbortSignal): Promise<boolean> => {
  const rebuild = await readRebuild(pool, 'transcript')
  if (!rebuild || rebuild.endedAt !== null) return false
  const { generation, replaces } = rebuild
  const own = { name: 'transcript', generation, replaces } as const
  if (rebuild.outcome === null) await giveUp(pool, own, 'discarded')
  if (await removeGenerations(pool, 'transcript', { keep: true, signal })) {
    await endRebuild(pool, own)
  }
  return true
}
