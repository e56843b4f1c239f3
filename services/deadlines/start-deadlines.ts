import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { createLane } from '../lane.ts'
import { newId } from '../log/new-id.ts'
import type { Log } from '../log/open-log.ts'
import { readExpired, readInterrupted, dueAtOnce, type Due } from './read-due.ts'

type Deps = {
  readonly pool: Pool
  readonly log: Pick<Log, 'execute'>
  readonly report: (problem: unknown) => void
}

/** Between two looks; by up to half of it sooner or later, so that servers do not look together. */
const everyMs = 500
/** Commands under way at once: they go out together in the same calls. */
const atOnce = 32

/**
 * Looks twice a second, at every server, for what is due and has it written. Whatever fails is
 * reported once per outage and tried again.
 */
export const startDeadlines = (deps: Deps): AsyncDisposable => {
  const stopping = new AbortController()
  let failing = false
  const look = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(everyMs * (0.5 + Math.random()), undefined, { signal: stopping.signal }).catch(
        () => {},
      )
      if (stopping.signal.aborted) return
      const [failure] = await writeDue(deps)
      if (failure !== undefined && !failing && !stopping.signal.aborted) deps.report(failure)
      failing = failure !== undefined
    }
  }
  const running = look()
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}

/** One look. Gives what failed: one session that fails holds up none of the others. */
export const writeDue = async (deps: Deps): Promise<readonly unknown[]> => {
  const { log } = deps
  const expired = await forEachDue(deps, readExpired, ({ tenant, sessionId }) =>
    log.execute({ tenant, sessionId, kind: 'expire-requests', eventId: newId('evt') }),
  )
  const interrupted = await forEachDue(deps, readInterrupted, ({ tenant, sessionId, turnId }) =>
    log.execute({
      tenant,
      sessionId,
      kind: 'end-interrupted',
      turnId: turnId!,
      eventId: newId('evt'),
    }),
  )
  return [...expired, ...interrupted]
}

const forEachDue = async (
  { pool }: Deps,
  read: (connection: Connection, afterSid: number) => Promise<readonly Due[]>,
  write: (due: Due) => Promise<unknown>,
): Promise<unknown[]> => {
  const lane = createLane(atOnce)
  const failures: unknown[] = []
  try {
    for (let afterSid = 0; ;) {
      const from = afterSid
      const page = await pool.use((connection) => read(connection, from))
      const results = await Promise.allSettled(page.map((due) => lane(() => write(due))))
      for (const result of results) {
        if (result.status === 'rejected' && !isPast(result.reason)) failures.push(result.reason)
      }
      if (page.length < dueAtOnce) return failures
      afterSid = page.at(-1)!.sid
    }
  } catch (error) {
    return [...failures, error]
  }
}

/** The lists may be behind the log, and other servers look, too. */
const isPast = (error: unknown): boolean => error instanceof Refusal && past.has(error.code)

const past: ReadonlySet<string> = new Set([
  'wrong_state',
  'turn_settled',
  'turn_not_found',
  'session_deleted',
  'session_not_found',
])
