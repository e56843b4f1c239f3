import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Refusal } from '../../schema/errors.ts'
import { endpointOf, openCutProxy } from '../../test/harness/cut-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { openPool } from '../database/pool.ts'
import { callAppend } from './append-call.ts'
import { resolveUnknown } from './resolve-unknown.ts'
import type { Command } from './command.ts'
import { loadForDecision } from './load-session.ts'
import { openLog, type Log } from './open-log.ts'
import { eventIdsOf, shareOf, type Share } from './pending.ts'
import { decide } from './rules/decide.ts'

const session = { tenant: 1, sessionId: 's' }

const claim = (eventId: string): Command => ({
  ...session,
  kind: 'claim-turn',
  turnId: 'trn',
  ownerId: 'own_2',
  incarnation: 1,
  fromFence: 1,
  eventId,
})

const rename = (): Command => ({
  ...session,
  kind: 'append',
  events: [event('session.renamed', { title: 'x' })],
})

/** A turn of own_1, whose lease has lapsed. */
const orphaned = async (log: Log, database: TestDatabase): Promise<void> => {
  await log.execute({ ...session, kind: 'create', event: event('session.created', {}) })
  await log.execute({
    ...session,
    kind: 'start-turn',
    turnId: 'trn',
    ownerId: 'own_1',
    incarnation: 1,
    inputs: [],
    eventId: 'evt_start',
  })
  await run(database, `update stemma.availability set pulsed_at = now() + interval '1 hour'`)
  await lapse(database)
}

const run = ({ pool }: TestDatabase, sql: string) => pool.use((c) => c.query(sql))

const lapse = (database: TestDatabase) =>
  run(
    database,
    `update stemma.owner set lifetime = 'lease', ttl_ms = 1, heartbeat_at = now() - interval '1 h'
       where owner_id = 'own_1'`,
  )

const heartbeat = (database: TestDatabase) =>
  run(
    database,
    `update stemma.owner set ttl_ms = 60000, heartbeat_at = now() where owner_id = 'own_1'`,
  )

const typesOf = async (database: TestDatabase): Promise<unknown[]> =>
  (await run(database, 'select type from stemma.event order by seq')).map(({ type }) => type)

/** Until so many statements wait for a lock. */
const untilWaiting = async (database: TestDatabase, count: number): Promise<void> => {
  for (let tries = 0; tries < 200; tries += 1) {
    const rows = await run(
      database,
      `select pid from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock'`,
    )
    if (rows.length === count) return
    await sleep(20)
  }
  throw new Error(`not ${count} wait for a lock`)
}

const opened = async () => {
  const database = await openTestDatabase()
  const proxy = await openCutProxy({ to: endpointOf(database.url) })
  // One connection: while the proxy refuses, nothing is sent again.
  const pool = openPool({ url: proxy.url(database.url), max: 1, applicationName: 'cut' })
  const log = openLog({ pool, report: () => {} })
  await orphaned(log, database)
  return {
    database,
    proxy,
    log,
    [Symbol.asyncDispose]: async () => {
      await log[Symbol.asyncDispose]()
      await pool[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** What a server would send for the command now. */
const decided = ({ pool }: TestDatabase, command: Command): Promise<Share> =>
  pool.use(async (connection) => {
    const names = new Set<string>()
    for (;;) {
      const wanted = { eventIds: eventIdsOf(command), names }
      const loaded = await loadForDecision(connection, command, wanted)
      const decision = decide(loaded.session, command, loaded.facts)
      if (decision.kind === 'refused') throw decision.refusal
      if (decision.kind === 'lookup') for (const name of decision.names) names.add(name)
      else {
        const waits = { command, bytes: 0, deadline: 0, resolve: () => {}, reject: () => {} }
        return shareOf(command, loaded.session, [{ pending: waits, decision }])
      }
    }
  })

t.test(
  'L4: a claim whose call was lost before its owner’s heartbeat is refused at once, and holds up nothing',
  async (t) => {
    await using cut = await opened()
    const done = cut.proxy.cut({ at: 'before the request', matching: /append_guarded_v1/ })
    const lost = cut.log.execute(claim('evt_claim')).then(
      () => 'claimed',
      (error: Refusal) => error.code,
    )
    cut.proxy.refuse(true)
    await done
    await heartbeat(cut.database)
    const next = cut.log.execute(rename())
    const began = Date.now()
    cut.proxy.refuse(false)
    t.equal(await lost, 'owner_alive')
    t.match(await next, { added: 1 })
    t.ok(Date.now() - began < 5_000, 'long before the deadline')
    t.same(await typesOf(cut.database), ['session.created', 'turn.started', 'session.renamed'])
  },
)

t.test(
  'L4: a claim that was given up for lost is not stored any more, also when its owner is gone again; the next is',
  async (t) => {
    await using cut = await opened()
    const { database, log } = cut
    const { pool } = database
    const share = await decided(database, claim('evt_claim'))
    await heartbeat(database)
    const lost = { share, incarnation: pool.incarnation }
    for (const again of ['first', 'again']) {
      t.equal(await resolveUnknown(pool, lost, Date.now() + 5_000), undefined, again)
    }
    await lapse(database)
    const late = pool.use((c) => callAppend(c, [share.append], { wait: true }))
    await t.rejects(late, { code: '23505' })
    t.same(await typesOf(database), ['session.created', 'turn.started'])
    t.match(await log.execute(claim('evt_claim')), { turn: { fence: 2 } }, 'under the same id')
    t.equal((await typesOf(database)).length, 3)
  },
)

t.test(
  'L4: a lost claim whose owner was checked before it came back is stored, and found',
  async (t) => {
    await using cut = await opened()
    const { database } = cut
    await database.pool.use(async (holder) => {
      await holder.query('begin')
      await holder.query(`select from stemma.session for update`)
      const matching = /append_guarded_v1/
      const done = cut.proxy.cut({ at: 'after the request', matching, afterMs: 1_000 })
      const waiting = cut.log.execute(claim('evt_claim'))
      await untilWaiting(database, 1)
      // From here on no lease counts as lapsed.
      await run(database, `update stemma.availability set pulsed_at = now() - interval '1 hour'`)
      await done
      // The claim, and behind it who would make it void.
      await untilWaiting(database, 2)
      await holder.query('commit')
      t.match(await waiting, { turn: { fence: 2 } })
    })
    t.same(await typesOf(database), ['session.created', 'turn.started', 'turn.claimed'])
  },
)
