import type { Bench } from '../bench.ts'
import { openFloor } from '../contenders/floor.ts'
import { appendWith, openStemma, type Shape } from '../contenders/stemma.ts'

/** Appends in process, against raw INSERTs of as many rows by as many writers. */
const appendRow = (name: string, about: string, must: number, shape: Shape): Bench => ({
  name,
  about,
  open: async (world) => {
    const url = await world.database('migrated')
    const stemma = await openStemma(url)
    const floor = await openFloor(url)
    return {
      contenders: [floor.contender(shape), appendWith(stemma.log, shape)],
      claims: [{ ours: 'stemma', against: 'floor', must }],
      [Symbol.asyncDispose]: async () => {
        await floor[Symbol.asyncDispose]()
        await stemma[Symbol.asyncDispose]()
      },
    }
  },
})

export const appendRows: readonly Bench[] = [
  appendRow('sessions', 'append, 64 concurrent sessions, in process', 2, {
    writers: 64,
    sessions: 64,
    batch: 1,
  }),
  appendRow('sequential', 'append, one session, sequential', 0.85, {
    writers: 1,
    sessions: 1,
    batch: 1,
  }),
  appendRow('batches', 'append, 64 sessions, batches of 10', 0.9, {
    writers: 64,
    sessions: 64,
    batch: 10,
  }),
  appendRow('hot-session', 'append, one session, 64 writers', 2, {
    writers: 64,
    sessions: 1,
    batch: 1,
  }),
]
