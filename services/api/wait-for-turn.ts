import type { Target } from '../log/command.ts'
import { readTurn } from '../reads/read-turn.ts'
import type { Turn } from '../reads/to-turns.ts'
import type { RouteDeps } from './deps.ts'

/** A turn, as soon as it has ended, the time is over, or nobody waits any more. */
export const waitForTurn = async (
  { pool, feeds }: Pick<RouteDeps, 'pool' | 'feeds'>,
  target: Target,
  wait: { readonly turnId: string; readonly waitMs: number; readonly signal: AbortSignal },
): Promise<{ readonly data: Turn; readonly asOfSeq: number }> => {
  using opened = await feeds.open(target)
  const { feed } = opened
  const signal = AbortSignal.any([wait.signal, AbortSignal.timeout(wait.waitMs)])
  for (;;) {
    const turn = await readTurn(pool, target, wait.turnId)
    if (turn.data.status === 'ended' || signal.aborted || feed.lost) return turn
    await feed.changed(turn.asOfSeq, signal)
  }
}
