import type { Bench, Contender } from '../bench.ts'
import { openFloor } from '../contenders/floor.ts'
import { appendWith, openStemma } from '../contenders/stemma.ts'
import { openEmmett } from '../peers/emmett.ts'
import { openEvtStore } from '../peers/evtstore.ts'
import { openLangGraph } from '../peers/langgraph.ts'
import { installPeers } from '../peers/load-peer.ts'
import { openMessageDb } from '../peers/message-db.ts'
import type { Peer } from '../peers/peer.ts'
import { timed } from '../timed.ts'

const shape = { writers: 64, sessions: 64, batch: 1 }

/** One event a call to 64 streams at once, each peer on a database of its own on the same server. */
export const peersRow: Bench = {
  name: 'peers',
  about: 'append, 64 concurrent sessions, in process, and what other stores do of it',
  open: async (world) => {
    installPeers()
    const url = await world.database('migrated')
    const stemma = await openStemma(url)
    const floor = await openFloor(url)
    const peers = [
      await openEmmett(await world.database('empty')),
      await openMessageDb(await world.database('empty'), 'one'),
      await openMessageDb(await world.database('empty'), 'each'),
      await openEvtStore(await world.database('empty')),
      await openLangGraph(await world.database('empty')),
    ]
    return {
      contenders: [
        floor.contender(shape),
        appendWith(stemma.log, shape),
        ...peers.map(contenderOf),
      ],
      claims: [
        { ours: 'stemma', against: 'floor', must: 2 },
        ...peers.map(({ name }) => ({
          ours: 'stemma',
          against: name,
          ...(demanded.has(name) && { must: 6 }),
        })),
      ],
      [Symbol.asyncDispose]: async () => {
        for (const open of [...peers, floor, stemma]) await open[Symbol.asyncDispose]()
      },
    }
  },
}

/** Those that the design names. */
const demanded: ReadonlySet<string> = new Set(['Emmett', 'message-db'])

const contenderOf = ({ name, stream }: Peer): Contender => ({
  name,
  round: (milliseconds) =>
    timed(shape.writers, milliseconds, () => {
      const append = stream()
      return async () => {
        await append()
        return 1
      }
    }),
})
