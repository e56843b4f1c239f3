import { Refusal } from '../../schema/errors.ts'
import { ConnectionLost, DatabaseError } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import { callAppend, type AppendResult } from './append-call.ts'
import { runCarefully } from './careful.ts'
import type { Command, Outcome, Target } from './command.ts'
import { resolveUnknown, type Lost } from './resolve-unknown.ts'
import { readSessions } from './load-session.ts'
import { bytesOf, shareOf, type DecidedCommand, type Pending, type Share } from './pending.ts'
import { createLane } from '../lane.ts'
import { createSessionQueues, type SessionQueue } from './session-queues.ts'
import type { SessionState } from './session-state.ts'
import { absentSession, type Decidable } from './rules/decidable.ts'
import { decide, defaultLimits, type Decision } from './rules/decide.ts'

export type GroupCommitSettings = {
  /** What one call may carry; a session gets at most a quarter of it while others wait. */
  readonly batchBytes: number
  readonly batchSessions: number
  /** What may wait in all before commands are refused as `overloaded`. */
  readonly waitingCommands: number
  readonly waitingBytes: number
  /** How long a command may take before it is given up. */
  readonly commandTimeoutMs: number
  /** Sessions whose state is kept. */
  readonly cachedSessions: number
  /** Failed attempts and steps in a row that a turn may have (rule 14). */
  readonly mostFailures: number
}

export const groupCommitDefaults: GroupCommitSettings = {
  batchBytes: 4 * 1024 * 1024,
  batchSessions: 512,
  waitingCommands: 20_000,
  waitingBytes: 256 * 1024 * 1024,
  commandTimeoutMs: 15_000,
  cachedSessions: 20_000,
  ...defaultLimits,
}

export type Appended = Target & {
  readonly sid: number
  readonly headSeq: number
  /** The session's state after it. */
  readonly state: SessionState
}

export type GroupCommit = {
  execute(command: Command): Promise<Outcome>
  /** Takes nothing more, and resolves when all that was taken is answered. */
  drain(): Promise<void>
}

/**
 * Appends that arrive while a call is in flight go out together in the next one. One call is in
 * flight at a time (two were slower); the commands of one session are decided one after another on
 * the state that is kept here, and go out as one. What is refused, or needs a look-up, or lost its
 * compare twice, goes the careful way (careful.ts), session by session beside the calls.
 */
export const createGroupCommit = (deps: {
  readonly pool: Pool
  readonly settings: GroupCommitSettings
  readonly appended: (appended: Appended) => void
}): GroupCommit => {
  const { pool, settings } = deps
  const queues = createSessionQueues(settings.cachedSessions)
  let waitingCommands = 0
  let waitingBytes = 0
  // Of the pool's connections at least one is left for the calls and one for the poller and readers.
  const carefulLane = createLane(Math.max(1, pool.max - 2))
  const lockedLane = createLane(Math.max(1, (pool.max - 2) >> 1))
  let calling = false
  let scheduled = false
  let draining: (() => void) | undefined
  let closed = false

  pool.onIncarnation(() => queues.forget())

  const execute = (command: Command): Promise<Outcome> =>
    new Promise((resolve, reject) => {
      const bytes = bytesOf(command)
      if (closed) return reject(new Refusal('overloaded', 'the server is stopping'))
      if (
        waitingCommands >= settings.waitingCommands ||
        waitingBytes + bytes > settings.waitingBytes
      ) {
        return reject(new Refusal('overloaded', 'too many appends wait'))
      }
      waitingCommands += 1
      waitingBytes += bytes
      const done = (): void => {
        waitingCommands -= 1
        waitingBytes -= bytes
        if (waitingCommands === 0) draining?.()
      }
      const deadline = Date.now() + settings.commandTimeoutMs
      queues.push({
        command,
        bytes,
        deadline,
        resolve: (outcome) => (done(), resolve(outcome)),
        reject: (error) => (done(), reject(error)),
      })
      schedule()
    })

  const schedule = (): void => {
    if (scheduled || calling) return
    scheduled = true
    // After the commands of this turn of the event loop have arrived.
    setImmediate(() => {
      scheduled = false
      void pump()
    })
  }

  const pump = async (): Promise<void> => {
    if (calling) return
    calling = true
    try {
      for (;;) {
        const shares = collect()
        if (shares.length === 0) break
        await send(shares)
      }
    } finally {
      calling = false
    }
  }

  /** Decides what goes out next, and starts on the side what cannot go out so. */
  const collect = (): Share[] => {
    const shares: Share[] = []
    const unknown: SessionQueue[] = []
    let bytes = 0
    for (const queue of queues.takeReady()) {
      if (bytes >= settings.batchBytes || shares.length >= settings.batchSessions) {
        queues.ready(queue)
        continue
      }
      if (queue.lost >= 2 || queue.locked) {
        void carefully(queue, 1, lockedLane)
        continue
      }
      if (!queue.session && queue.waiting[0]!.command.kind !== 'create') {
        unknown.push(queue)
        continue
      }
      const share = decideShare(queue)
      if (share) {
        shares.push(share)
        bytes += share.bytes
      } else void carefully(queue)
    }
    if (unknown.length > 0) void load(unknown)
    return shares
  }

  /** undefined if the rules themselves fail: the careful way says so to who asked, and to nobody else. */
  const decideKept = (session: Decidable, { command }: Pending): Decision | undefined => {
    try {
      return decide(session, command, undefined, settings)
    } catch {
      return undefined
    }
  }

  /** As many of the session's commands as its part of a call holds; undefined if the first is not for it. */
  const decideShare = (queue: SessionQueue): Share | undefined => {
    const start = queue.session ?? absentSession
    let session = start
    let bytes = 0
    const decided: DecidedCommand[] = []
    for (const pending of queue.waiting) {
      if (pending.command.kind === 'import') break
      if (decided.length > 0 && bytes + pending.bytes > settings.batchBytes / 4) break
      const decision = decideKept(session, pending)
      // No refusal leaves on kept state.
      if (decision?.kind !== 'accepted' || decision.events.length === 0) break
      decided.push({ pending, decision })
      bytes += pending.bytes
      session = { sid: start.sid, ...decision.next }
    }
    if (decided.length === 0) return undefined
    queues.busy(queue, decided.length)
    return shareOf(queue.target, start, decided)
  }

  const load = async (unknown: readonly SessionQueue[]): Promise<void> => {
    const { epoch } = queues
    for (const queue of unknown) queues.busy(queue, 0)
    try {
      const targets = unknown.map((queue) => queue.target)
      const rows = await pool.use((connection) => readSessions(connection, targets))
      unknown.forEach((queue, index) => {
        const row = rows[index]
        if (row) {
          queues.keep(queue, { sid: row.sid, head: row.headSeq, state: row.state }, epoch)
          queues.release(queue)
        } else void carefully(queue)
      })
    } catch {
      // The careful way says what is wrong, to each of them.
      for (const queue of unknown) void carefully(queue)
    }
    schedule()
  }

  const send = async (shares: readonly Share[]): Promise<void> => {
    const { epoch } = queues
    let incarnation: string | undefined
    let results: AppendResult[] | undefined
    try {
      const appends = shares.map((share) => share.append)
      results = await pool.use(async (connection) => {
        // L9: a connection to another log may have come meanwhile; these were decided on the old one.
        if (queues.epoch !== epoch) return undefined
        incarnation = pool.incarnation
        return callAppend(connection, appends, { wait: false })
      })
    } catch (error) {
      return sendFailed(shares, error, incarnation)
    }
    // From here on what was answered is answered: no error may send it again.
    shares.forEach((share, index) => {
      if (results) settle(share, results[index]!, epoch)
      else giveBack(share)
    })
  }

  const giveBack = (share: Share): void =>
    queues.giveBack(
      queues.of(share.target),
      share.commands.map(({ pending }) => pending),
    )

  const settle = (share: Share, { outcome, sid, head }: AppendResult, epoch: number): void => {
    const queue = queues.of(share.target)
    if (outcome === 'ok') {
      succeed(share, { sid, head, state: share.append.state }, epoch)
      queues.release(queue)
      return
    }
    queues.keep(queue, undefined, epoch)
    // `missing`: what was kept is of another log; it is read again like after a lost compare.
    if (outcome === 'conflict' || outcome === 'missing') queue.lost += 1
    else queue.locked = true
    giveBack(share)
  }

  const sendFailed = async (
    shares: readonly Share[],
    error: unknown,
    incarnation: string | undefined,
  ): Promise<void> => {
    if (error instanceof ConnectionLost) {
      for (const share of shares) void settleUnknown({ share, incarnation })
    } else if (shares.length > 1 && error instanceof DatabaseError) {
      // Bisected, so that a bad append fails alone.
      const half = shares.length >> 1
      await send(shares.slice(0, half))
      await send(shares.slice(half))
    } else {
      for (const share of shares) {
        const queue = queues.of(share.target)
        queues.keep(queue, undefined, queues.epoch)
        queue.waiting.unshift(...share.commands.map(({ pending }) => pending))
        void carefully(queue, share.commands.length)
      }
    }
  }

  const settleUnknown = async (lost: Lost): Promise<void> => {
    const { share } = lost
    const queue = queues.of(share.target)
    const { epoch } = queues
    queues.keep(queue, undefined, epoch)
    const pending = share.commands.map((decided) => decided.pending)
    try {
      const deadline = Math.min(...pending.map((p) => p.deadline))
      const session = await resolveUnknown(pool, lost, deadline)
      if (session) {
        succeed(share, session, epoch)
        queues.release(queue)
      } else giveBack(share)
    } catch (error) {
      for (const { reject } of pending) reject(error)
      queues.release(queue)
    }
    schedule()
  }

  /** The session's first commands, one by one, on its state as it is in the database. */
  const carefully = async (queue: SessionQueue, count = 1, lane = carefulLane): Promise<void> => {
    const commands = queues.busy(queue, count)
    const lost = queue.lost
    queue.lost = 0
    queue.locked = false
    for (const pending of commands) {
      let { epoch } = queues
      try {
        const { outcome, session } = await lane(() => {
          epoch = queues.epoch
          return runCarefully(pool, pending, lost, settings)
        })
        queues.keep(queue, session, epoch)
        if (outcome.added > 0 && !outcome.replayed && session) {
          deps.appended({
            ...queue.target,
            sid: session.sid,
            headSeq: session.head,
            state: session.state,
          })
        }
        pending.resolve(outcome)
      } catch (error) {
        queues.keep(queue, undefined, epoch)
        pending.reject(error)
      }
    }
    queues.release(queue)
    schedule()
  }

  const succeed = (share: Share, session: Decidable, epoch: number): void => {
    const queue = queues.of(share.target)
    queues.keep(queue, session, epoch)
    queue.lost = 0
    const { sid, head: headSeq, state } = session
    deps.appended({ ...share.target, sid, headSeq, state })
    for (const { pending, decision } of share.commands) pending.resolve(decision.outcome)
  }

  const drain = async (): Promise<void> => {
    closed = true
    if (waitingCommands > 0) await new Promise<void>((resolve) => (draining = resolve))
  }

  return { execute, drain }
}
