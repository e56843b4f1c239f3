import postgres from 'postgres'
import type { Bench, Contender } from '../bench.ts'
import { appendWith, openStemma } from '../contenders/stemma.ts'

const shape = { writers: 64, sessions: 64, batch: 1 }

/**
 * Somebody keeps a snapshot open, as a dump does, so that no dead version of a session's row can be
 * cleared away. Both contenders append for the whole time that it is held; what counts is the rate
 * of all of it.
 */
export const oldSnapshotRow: Bench = {
  name: 'old-snapshot',
  about: 'append, 64 sessions, while an old snapshot is held (--hold-ms)',
  open: async (world) => {
    const url = await world.database('migrated')
    const stemma = await openStemma(url)
    const holder = postgres(url, { max: 1, fetch_types: false })
    const append = appendWith(stemma.log, shape)
    const { holdMilliseconds, milliseconds } = world.options
    // Of a round that is cut short, as for warming, the hold is, too.
    const holdFor = (round: number): number => (holdMilliseconds * round) / milliseconds
    const without: Contender = { name: 'without', round: (ms) => append.round(holdFor(ms)) }
    const held: Contender = {
      name: 'held',
      round: (ms) =>
        holder.begin('isolation level repeatable read', async (transaction) => {
          await transaction`select count(*) from stemma.session`
          return append.round(holdFor(ms))
        }),
    }
    return {
      contenders: [without, held],
      claims: [{ ours: 'held', against: 'without', must: 0.5 }],
      [Symbol.asyncDispose]: async () => {
        await holder.end()
        await stemma[Symbol.asyncDispose]()
      },
    }
  },
}
