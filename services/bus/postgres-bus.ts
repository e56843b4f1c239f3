import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type OpenConnection } from '../database/connection.ts'
import type { Pool } from '../database/pool.ts'
import type { Bus, Ring } from './bus.ts'
import { readRings, ringTexts } from './ring-text.ts'

const channel = 'stemma_ring'
/**
 * The first ring goes out at once; those that come close behind it go together. The pause between
 * is a millisecond for each session that rang, so that a few wait for little and many cost little.
 */
const longestPauseMs = 5
const longestBackoffMs = 2_000
/** A line that died without a word is found so. */
const probeEveryMs = 10_000

/**
 * The bus of servers that share a database: LISTEN on a connection of its own, NOTIFY in a statement
 * of its own after the commit (inside the append it would cost 60 % of the appends). A connection
 * that is lost is opened again; what was rung meanwhile is found by the poller.
 */
export const openPostgresBus = (deps: {
  readonly url: string
  readonly pool: Pool
  readonly report: (problem: unknown) => void
}): Bus => {
  const { url, pool, report } = deps
  const server = randomUUID().slice(0, 8)
  const listeners = new Set<(rings: readonly Ring[]) => void>()
  const stopping = new AbortController()
  const { promise: ready, resolve: begun } = Promise.withResolvers<void>()
  let connected = false

  let heads = new Map<number, number>()
  let telling: Promise<void> | undefined
  const tell = async (): Promise<void> => {
    while (heads.size > 0 && !stopping.signal.aborted) {
      const texts = ringTexts(server, heads)
      const pauseMs = Math.min(heads.size, longestPauseMs)
      heads = new Map()
      await pool
        .use((connection) =>
          connection.query(
            `select pg_notify('${channel}', t) from unnest(string_to_array($1, ',')) t`,
            [texts.join(',')],
          ),
        )
        // A lost ring changes nothing: the others' pollers ring.
        .catch(() => {})
      await sleep(pauseMs)
    }
    telling = undefined
  }

  const hear = (_channel: string, text: string): void => {
    const { server: from, rings } = readRings(text)
    if (from === server || rings.length === 0) return
    for (const listener of listeners) listener(rings)
  }

  const listen = async (): Promise<void> => {
    let backoffMs = 50
    let failing = false
    while (!stopping.signal.aborted) {
      const { promise: lost, resolve: lose } = Promise.withResolvers<void>()
      let connection: OpenConnection | undefined
      try {
        connection = await connect({ ...listenSettings, url, onNotify: hear }, lose)
        await connection.query(`listen ${channel}`)
        connected = true
        failing = false
        backoffMs = 50
        begun()
        while (!connection.lost && !stopping.signal.aborted) {
          await pauseOr(lost)
          if (!connection.lost && !stopping.signal.aborted) await connection.query('select 1')
        }
      } catch (error) {
        if (!failing && !stopping.signal.aborted) report(error)
        failing = true
      }
      connected = false
      connection?.destroy()
      await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => {})
      backoffMs = Math.min(backoffMs * 2, longestBackoffMs)
    }
  }

  const pauseOr = async (lost: Promise<void>): Promise<void> => {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stopping.signal])
    await Promise.race([lost, sleep(probeEveryMs, undefined, { signal }).catch(() => {})])
    over.abort()
  }

  const listening = listen()
  return {
    ring: ({ sid, headSeq }) => {
      heads.set(sid, Math.max(headSeq, heads.get(sid) ?? 0))
      telling ??= tell()
    },
    onRing: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get connected() {
      return connected
    },
    ready,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await listening
      await telling
    },
  }
}

const listenSettings = {
  applicationName: 'stemma-bus',
  statementTimeoutMs: 5_000,
  connectTimeoutMs: 5_000,
}
