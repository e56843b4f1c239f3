import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../database/pool.ts'
import type { Log } from '../log/open-log.ts'
import { transcriptGeneration } from '../reads/generation.ts'
import { projectSessions } from './project-sessions.ts'
import { build, projectTranscript } from './project-transcript.ts'

export type Projector = AsyncDisposable & {
  /** Asks for a session's transcript to be written soon. */
  ask(sid: number): void
}

/** Written at once when so many events wait; else when the session has been quiet for `quietMs`. */
const longTail = 100
const quietMs = 1_000
/** The list touches a session at most this often. */
const sessionsEveryMs = 1_000
/** How often sessions that nobody rang for are looked for: those of servers that died. */
const sweepEveryMs = 5_000
const sweepSize = 50

type Waiting = { since: number; changed: number; events: number }

/**
 * Keeps the projections written behind the log: the transcripts of sessions that this server
 * appended to, those that others left behind, and the list of sessions. Reads never wait for it.
 * Whatever fails is reported once per outage and tried again.
 */
export const startProjector = (deps: {
  readonly pool: Pool
  readonly log: Log
  readonly report: (problem: unknown) => void
}): Projector => {
  const { pool, log, report } = deps
  const waiting = new Map<number, Waiting>()
  const stopping = new AbortController()
  let failing = false

  const note = (sid: number, events: number): void => {
    const now = Date.now()
    const entry = waiting.get(sid)
    if (entry) {
      entry.changed = now
      entry.events += events
    } else waiting.set(sid, { since: now, changed: now, events })
  }

  const stopListening = log.onAppended(({ sid }) => note(sid, 1))

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
      failing = false
    } catch (error) {
      if (!failing && !stopping.signal.aborted) report(error)
      failing = true
      await sleep(500)
    }
  }

  const projectSession = async (sid: number): Promise<void> => {
    waiting.delete(sid)
    try {
      for (;;) {
        const result = await projectTranscript(pool, sid)
        if (result.stalled)
          report(
            new Error(
              `the transcript of session ${sid} is stalled at seq ${result.stalled.seq}: ${result.stalled.code}`,
            ),
          )
        if (result.done) return
      }
    } catch (error) {
      note(sid, longTail)
      throw error
    }
  }

  const due = (): number[] => {
    const now = Date.now()
    const list: number[] = []
    for (const [sid, { since, changed, events }] of waiting) {
      const quiet = now - changed >= quietMs || now - since >= 5 * quietMs
      if (events >= longTail || quiet || stopping.signal.aborted) list.push(sid)
    }
    return list
  }

  const transcripts = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      for (const sid of due()) await attempt(() => projectSession(sid))
      await pause(100)
    }
  }

  const sessions = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await attempt(async () => {
        while (await projectSessions(pool, report)) if (stopping.signal.aborted) return
      })
      await pause(sessionsEveryMs)
    }
  }

  const sweep = async (): Promise<void> => {
    let after = 0
    while (!stopping.signal.aborted) {
      await pause(sweepEveryMs)
      if (stopping.signal.aborted) return
      await attempt(async () => {
        const left = await pool.use((connection) =>
          connection.query<{ sid: number; behind: number }>(sweepSql, [after, sweepSize, build]),
        )
        for (const { sid, behind } of left) if (!waiting.has(sid)) note(sid, behind)
        after = left.length < sweepSize ? 0 : left.at(-1)!.sid
      })
    }
  }

  const pause = (ms: number): Promise<unknown> =>
    sleep(ms, undefined, { signal: stopping.signal }).catch(() => {})

  const running = Promise.all([transcripts(), sessions(), sweep()])

  return {
    ask: (sid) => note(sid, longTail),
    [Symbol.asyncDispose]: async () => {
      stopListening()
      stopping.abort()
      await running
    },
  }
}

// Left behind by at least a page of reads, or for good by a server that died. Where no generation is
// of this build's fold, there is nothing to write into.
const sweepSql = `with own as materialized (select ${transcriptGeneration} as version)
  select s.sid, s.head - coalesce(p.seq, 0) as behind
  from own cross join stemma.session s
    left join stemma.transcript_progress p on p.version = own.version and p.sid = s.sid
  where own.version > 0 and s.sid > $1 and s.head > coalesce(p.seq, 0)
    and (p.stalled_seq is null or p.tried_build is distinct from $3)
  order by s.sid limit $2`
