import { setTimeout as sleep } from 'node:timers/promises'
import { runTransaction } from '../../database/run-transaction.ts'
import { readProgress } from '../../reads/transcript-rows.ts'
import { projectTranscript } from '../project-transcript.ts'
import { compareRows, type Difference } from './compare-rows.ts'
import type { RebuildJob } from './rebuild.ts'

/** A projector moves a session now and then; the two are at one seq long enough between. */
const mostTries = 100

/**
 * Compares a session's rebuilt rows with its live ones when both are at the same seq, in one
 * snapshot: whichever is behind is folded on to where the other stands.
 */
export const verifySession = async (
  { pool, rebuild, signal }: RebuildJob,
  session: { readonly sid: number; readonly sessionId: string },
): Promise<readonly Difference[]> => {
  const { sid, sessionId } = session
  const differs = (what: string): Difference[] => [{ sessionId, row: 'progress', what }]
  for (let tries = 0; tries < mostTries && !signal.aborted; tries += 1) {
    const found = await runTransaction(
      pool,
      { isolation: 'repeatable read', readOnly: true },
      async (connection) => {
        const live = await readProgress(connection, sid, rebuild.replaces)
        const rebuilt = await readProgress(connection, sid, rebuild.generation)
        const together = live.seq === rebuilt.seq && live.stalled?.seq === rebuilt.stalled?.seq
        if (together) return { differences: await compareRows(connection, rebuild, session) }
        return { live, rebuilt }
      },
    )
    if ('differences' in found) return found.differences
    const { live, rebuilt } = found
    const liveIsBehind =
      live.seq === rebuilt.seq ? live.stalled === undefined : live.seq < rebuilt.seq
    const [behind, ahead] = liveIsBehind ? [live, rebuilt] : [rebuilt, live]
    // At one seq and one of them stalled: the other shows whether it gets further.
    const throughSeq = Math.max(ahead.seq, behind.seq + 1)
    for (let done = false; !done && !signal.aborted;) {
      const { generation } = behind
      const projected = await projectTranscript(pool, sid, { generation, throughSeq })
      const { stalled } = projected
      if (stalled && ahead.stalled?.seq !== stalled.seq) {
        const whose = liveIsBehind ? 'live' : 'rebuilt'
        return differs(
          `column stalled_seq: the ${whose} rows are stalled at seq ${stalled.seq} (${stalled.code})`,
        )
      }
      done = projected.done
    }
    if (tries > 3) await sleep(20)
  }
  if (signal.aborted) return []
  return differs('the live and the rebuilt rows were at no time at the same seq')
}
