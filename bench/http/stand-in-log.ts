import { openFloor } from '../contenders/floor.ts'
import type { Command, Outcome } from '../../services/log/command.ts'
import type { Log } from '../../services/log/open-log.ts'

/**
 * What stands behind the route instead of Stemma's log, so that parsing, validation and reply stay
 * the very same: `insert` stores with one raw INSERT per request, `nothing` only answers.
 */
export const openStandIn = async (kind: 'insert' | 'nothing', url: string): Promise<Log> => {
  const floor = kind === 'insert' ? await openFloor(url) : undefined
  const sids = new Map<string, number>()
  let seq = 0
  return {
    execute: async (command) => {
      seq += 1
      const sid = sids.get(command.sessionId) ?? sids.size + 1
      sids.set(command.sessionId, sid)
      await floor?.insert(sid, seq)
      return outcomeOf(command, seq)
    },
    horizon: {
      position: 0,
      lastSuccessAt: Date.now(),
      ready: Promise.resolve(),
      onAdvance: () => () => {},
      ring: () => {},
    },
    onAppended: () => () => {},
    [Symbol.asyncDispose]: async () => floor?.[Symbol.asyncDispose](),
  }
}

const outcomeOf = (command: Command, seq: number): Outcome => ({
  sessionId: command.sessionId,
  created: false,
  headSeq: seq,
  firstSeq: seq,
  lastSeq: seq,
  events: command.kind === 'append' ? command.events.map(({ eventId }) => ({ eventId, seq })) : [],
  added: 1,
  duplicates: 0,
})
