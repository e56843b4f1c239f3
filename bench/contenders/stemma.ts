import type { NewEvent } from '../../schema/events/envelope.ts'
import { openPool } from '../../services/database/pool.ts'
import { newId } from '../../services/log/new-id.ts'
import { openLog, type Log } from '../../services/log/open-log.ts'
import type { Contender } from '../bench.ts'
import { payload } from '../payload.ts'
import { timed } from '../timed.ts'

export type Shape = {
  readonly writers: number
  readonly sessions: number
  readonly batch: number
}

/** A log in this process, as a server has it. */
export const openStemma = async (url: string): Promise<AsyncDisposable & { readonly log: Log }> => {
  const pool = openPool({ url, max: 16, applicationName: 'stemma-bench' })
  const log = openLog({ pool, report: console.error })
  await log.horizon.ready
  return {
    log,
    [Symbol.asyncDispose]: async () => {
      await log[Symbol.asyncDispose]()
      await pool[Symbol.asyncDispose]()
    },
  }
}

/**
 * What Stemma's log does: through its rules, names, state and group commit. A round makes sessions
 * of its own.
 */
export const appendWith = (log: Log, shape: Shape, name = 'stemma'): Contender => ({
  name,
  round: async (milliseconds) => {
    const prefix = newId('ses')
    await Promise.all(
      Array.from({ length: shape.sessions }, (_, n) =>
        log.execute({ tenant: 1, sessionId: `${prefix}_${n}`, kind: 'create', event: created() }),
      ),
    )
    return timed(shape.writers, milliseconds, (writer) => async () => {
      const events = Array.from({ length: shape.batch }, renamed)
      const sessionId = `${prefix}_${writer % shape.sessions}`
      await log.execute({ tenant: 1, sessionId, kind: 'append', events })
      return shape.batch
    })
  },
})

const created = (): NewEvent => ({
  eventId: newId('evt'),
  type: 'session.created',
  version: 1,
  data: {},
  meta: {},
})

const renamed = (): NewEvent => ({
  eventId: newId('evt'),
  type: 'session.renamed',
  version: 1,
  data: payload,
  meta: {},
})
