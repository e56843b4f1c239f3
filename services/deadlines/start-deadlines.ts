import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../schema/errors.ts'
import type { Connection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { createLane } from '../lane.ts'
import { newId } from '../log/new-id.ts'
import type { Log } from '../log/open-log.ts'
import { readExpired, readInterrupted, type Due, type DuePage } from './read-due.ts'

type Deps = {
  readonly pool: Pool
  readonly log: Pick<Log, 'execute'>
  readonly report: (problem: unknown) => void
}

/** Between two looks; by up to half of it sooner or later, so that servers do not look together. */
const everyMs = 500
/** Commands under way at once: they go out together in the same calls. */
const atOnce = 32
/** How long a look waits for what it writes; somebody may hold a session's row for much longer. */
const patienceMs = 1_000

/** What looks leave to later ones: writes that are under way, by session and turn, and what failed. */
export type Looks = { readonly underWay: Set<string>; readonly failures: unknown[] }

export const noLooks = (): Looks => ({ underWay: new Set(), failures: [] })

/**
 * Looks twice a second, at every server, for what is due and has it written. Whatever fails is
 * reported once per outage and tried again.
 */
export const startDeadlines = (deps: Deps): AsyncDisposable => {
  const stopping = new AbortController()
  const looks = noLooks()
  let failing = false
  const look = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(everyMs * (0.5 + Math.random()), undefined, { signal: stopping.signal }).catch(
        () => {},
      )
      if (stopping.signal.aborted) return
      const [failure] = await writeDue(deps, looks)
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

/**
 * One look. Gives what failed since the last: one session that fails, or is locked, holds up none of
 * the others.
 */
export const writeDue = async (deps: Deps, looks = noLooks()): Promise<readonly unknown[]> => {
  const { log } = deps
  await forEachDue(deps, looks, readExpired, ({ tenant, sessionId }) =>
    log.execute({ tenant, sessionId, kind: 'expire-requests', eventId: newId('evt') }),
  )
  await forEachDue(deps, looks, readInterrupted, ({ tenant, sessionId, turnId }) =>
    log.execute({
      tenant,
      sessionId,
      kind: 'end-interrupted',
      turnId: turnId!,
      eventId: newId('evt'),
    }),
  )
  return looks.failures.splice(0)
}

const forEachDue = async (
  { pool }: Deps,
  { underWay, failures }: Looks,
  read: (connection: Connection, afterSid: number) => Promise<DuePage>,
  write: (due: Due) => Promise<unknown>,
): Promise<void> => {
  const lane = createLane(atOnce)
  const writeOnce = async (due: Due): Promise<void> => {
    const key = `${due.sid} ${due.turnId ?? ''}`
    if (underWay.has(key)) return
    underWay.add(key)
    try {
      await lane(() => write(due))
    } catch (error) {
      if (!isPast(error)) failures.push(error)
    } finally {
      underWay.delete(key)
    }
  }
  try {
    for (let afterSid = 0; ;) {
      const from = afterSid
      const { due, next } = await pool.use((connection) => read(connection, from))
      const patience = sleep(patienceMs, undefined, { ref: false })
      await Promise.race([Promise.all(due.map(writeOnce)), patience])
      if (next === undefined) return
      afterSid = next
    }
  } catch (error) {
    failures.push(error)
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
