import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endpointOf, openCutProxy, type CutRule } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { openPool } from '../database/pool.ts'
import type { Command } from './command.ts'
import { openLog, type Log } from './open-log.ts'

const session = { tenant: 1, sessionId: 's' }

/** The second interruption of a turn is no news. */
const stop = (eventId: string, commandId?: string): Command => ({
  ...session,
  kind: 'interrupt-turn',
  reason: 'x',
  by: { subject: 'me' },
  eventId,
  ...(commandId !== undefined && { receipt: { commandId, route: 'r', requestHash: 'h' } }),
})

const interrupted = async (log: Log): Promise<void> => {
  await log.execute({ ...session, kind: 'create', event: event('session.created', {}) })
  await log.execute({
    ...session,
    kind: 'start-turn',
    turnId: 'trn',
    ownerId: 'own',
    incarnation: 1,
    inputs: [],
    eventId: 'evt_start',
  })
  await log.execute(stop('evt_stop'))
}

const receiptsOf = ({ pool }: TestDatabase) =>
  pool.use((c) => c.query('select command_id, seqs from stemma.receipt order by command_id'))

t.test(
  'L4: the line is cut where a receipt without an event is written: it is there once, and the command is answered',
  async (t) => {
    await using database = await openTestDatabase()
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    await using pool = openPool({ url: proxy.url(database.url), max: 4, applicationName: 'cut' })
    await using log = openLog({ pool, report: () => {} })
    await interrupted(log)
    const matching = /insert into stemma\.receipt/
    const points: readonly CutRule[] = [
      { at: 'before the request', matching },
      { at: 'after the request', matching },
      { at: 'inside the reply', matching },
      { at: 'after the request', matching, afterMs: 50 },
    ]
    for (const [n, rule] of points.entries()) {
      const done = proxy.cut(rule)
      t.match(await log.execute(stop(`evt_${n}`, `key_${n}`)), { added: 0, headSeq: 3 })
      await done
    }
    t.same(
      await receiptsOf(database),
      points.map((_, n) => ({ command_id: `key_${n}`, seqs: '[3,4)' })),
    )
  },
)

t.test(
  'a receipt without an event is of the head that its command was decided on, else it is decided again',
  async (t) => {
    await using database = await openTestDatabase()
    await using log = openLog({ pool: database.pool, report: () => {} })
    await interrupted(log)
    const command = stop('evt_again', 'key')
    await database.pool.use(async (holder) => {
      await holder.query('begin')
      await holder.query(`update stemma.session set head = head + 1`)
      const waiting = log.execute(command)
      await sleep(300)
      t.same(await receiptsOf(database), [])
      await holder.query('commit')
      t.match(await waiting, { added: 0, headSeq: 4 })
    })
    t.same(await receiptsOf(database), [{ command_id: 'key', seqs: '[4,5)' }])
    t.match(await log.execute(command), { replayed: true, headSeq: 4 })
  },
)
