import { Refusal, type ErrorCode } from '../../schema/errors.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { createLane } from '../lane.ts'
import type { Target } from '../log/command.ts'
import { readSession } from '../log/load-session.ts'
import { readTree } from '../reads/read-tree.ts'
import type { RouteDeps } from './deps.ts'

/** Members that are worked on at once: they go out together in the same calls. */
const atOnce = 32

/** What is done to each member of a tree. */
export type TreeWork = {
  /** One append. Conditions and the `Idempotency-Key` of the request are the root's alone. */
  readonly on: (member: Target, isRoot: boolean) => Promise<unknown>
  /** The refusals that say of a member that nothing is left to do. */
  readonly already: readonly ErrorCode[]
}

/**
 * Works on a session and then on all its descendants that are not deleted, each by itself. The root
 * comes first: it decides whether anything is done, and what is ended there brings no more children
 * into being. Who is created meanwhile is found when the tree is read again. If the server dies in
 * between, the same request finishes: members that are done already are passed over, the root too if
 * anything was left below it.
 *
 * Throws the root's refusal before anything else is done. What another member refuses holds up none
 * of the rest: the first such refusal is thrown at the end, with the member's `sessionId`.
 */
export const forTree = async (
  { pool }: Pick<RouteDeps, 'pool'>,
  target: Target,
  { on, already }: TreeWork,
): Promise<void> => {
  const isDone = (error: unknown, codes: readonly ErrorCode[]): error is Refusal =>
    error instanceof Refusal && codes.includes(error.code)
  let rootDone: Refusal | undefined
  try {
    await on(target, true)
  } catch (error) {
    if (!isDone(error, already)) throw error
    rootDone = error
  }

  const lane = createLane(atOnce)
  const seen = new Set([target.sessionId])
  let worked = 0
  let failed: { readonly sessionId: string; readonly error: unknown } | undefined
  const work = async (sessionId: string): Promise<void> => {
    try {
      await on({ ...target, sessionId }, false)
      worked += 1
    } catch (error) {
      if (isDone(error, [...already, 'session_deleted', 'session_not_found'])) return
      failed ??= { sessionId, error }
    }
  }
  for (;;) {
    const members = (await descendants(pool, target)).filter(
      ({ sessionId }) => !seen.has(sessionId),
    )
    if (members.length === 0) break
    for (const { sessionId } of members) seen.add(sessionId)
    const alive = members.filter(({ deleted }) => !deleted)
    await Promise.all(alive.map(({ sessionId }) => lane(() => work(sessionId))))
    if (failed) throw ofMember(failed)
  }
  if (rootDone && worked === 0) throw rootDone
}

const descendants = (pool: RouteDeps['pool'], target: Target) =>
  runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (connection) => {
    const root = await readSession(connection, target)
    return root ? (await readTree(connection, root)).slice(1) : []
  })

const ofMember = (failed: { readonly sessionId: string; readonly error: unknown }): unknown => {
  const { sessionId, error } = failed
  if (!(error instanceof Refusal)) return error
  return new Refusal(error.code, `session ${sessionId} of the tree: ${error.message}`, {
    members: { ...error.members, sessionId },
    faults: error.faults,
    cause: error,
  })
}
