import { randomUUID } from 'node:crypto'
import { payload } from '../payload.ts'
import { loadPeer } from './load-peer.ts'
import { connections, type Peer } from './peer.ts'
import { openPgPool } from './pg-pool.ts'

type Checkpoints = {
  PostgresSaver: new (pool: unknown) => {
    setup(): Promise<void>
    put(
      config: unknown,
      checkpoint: unknown,
      metadata: unknown,
      versions: unknown,
    ): Promise<unknown>
  }
}
type Ids = { readonly uuid6: (clockSequence: number) => string }

/**
 * Not an event store: `put` writes a checkpoint, the whole state of a thread after a step. Here a
 * state of one channel with the payload, so the step costs as little as it can.
 */
export const openLangGraph = async (url: string): Promise<Peer> => {
  const { PostgresSaver } = await loadPeer<Checkpoints>('@langchain/langgraph-checkpoint-postgres')
  const { uuid6 } = await loadPeer<Ids>('@langchain/langgraph-checkpoint')
  const pool = await openPgPool(url, connections)
  const saver = new PostgresSaver(pool)
  await saver.setup()
  return {
    name: 'LangGraph checkpoints',
    stream: () => {
      const thread_id = randomUUID()
      let parent: string | undefined
      let step = 0
      return async () => {
        step += 1
        const id = uuid6(step)
        const configurable = { thread_id, checkpoint_ns: '', checkpoint_id: parent }
        await saver.put(
          { configurable },
          checkpointOf(id, step),
          { source: 'loop', step },
          {
            messages: step,
          },
        )
        parent = id
      }
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

const checkpointOf = (id: string, step: number) => ({
  v: 4,
  id,
  ts: new Date().toISOString(),
  channel_values: { messages: payload },
  channel_versions: { messages: step },
  versions_seen: {},
})
