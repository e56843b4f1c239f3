import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { event, startTurn } from '../../test/harness/rehearsal.ts'
import { seeded } from '../../test/harness/seeded.ts'
import type { Pool } from '../database/pool.ts'
import { openLog, type Log } from '../log/open-log.ts'
import { projectSessions } from '../projector/project-sessions.ts'
import { listSessions, type SessionsCursor, type SessionsQuery } from './list-sessions.ts'

const create = (log: Log, sessionId: string, data = {}) =>
  log.execute({ tenant: 1, sessionId, kind: 'create', event: event('session.created', data) })
const rename = (log: Log, sessionId: string, title: string) =>
  log.execute({
    tenant: 1,
    sessionId,
    kind: 'append',
    events: [event('session.renamed', { title })],
  })

const pages = async (
  pool: Pool,
  query: Omit<SessionsQuery, 'tenant'>,
  between?: () => Promise<void>,
): Promise<string[][]> => {
  const all: string[][] = []
  let cursor: SessionsCursor | undefined
  do {
    const page = await listSessions(pool, { tenant: 1, ...query, ...(cursor && { cursor }) })
    all.push(page.data.map((session) => session.sessionId))
    cursor = page.next
    if (cursor) await between?.()
  } while (cursor)
  return all
}

t.test(
  'case 38: by creation each session is shown once while sessions are created and changed, by last change none is missed',
  async (t) => {
    const random = seeded(38)
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    const ids = Array.from({ length: 40 }, (_, n) => `ses_${n}`)
    for (const id of ids) await create(log, id)
    let made = 0
    const disturb = async (): Promise<void> => {
      for (let n = 0; n < 3; n += 1)
        await rename(log, ids[Math.floor(random() * ids.length)]!, `${random()}`)
      await create(log, `ses_new_${(made += 1)}`)
      if (random() < 0.5) await projectSessions(pool)
    }
    for (const round of ['never projected', 'projected']) {
      const created = (await pages(pool, { limit: 7, order: 'created' }, disturb)).flat()
      t.equal(new Set(created).size, created.length, `${round}: each once`)
      t.ok(
        ids.every((id) => created.includes(id)),
        `${round}: all that were there`,
      )
      t.same(
        created.filter((id) => ids.includes(id)),
        ids.toReversed(),
        'newest first',
      )
      const updated = (await pages(pool, { limit: 7, order: 'updated' }, disturb)).flat()
      t.ok(
        ids.every((id) => updated.includes(id)),
        `${round}: by last change none is missed`,
      )
      await projectSessions(pool)
    }
    await log[Symbol.asyncDispose]()
  },
)

t.test('a walk by last change is newest first when nothing changes', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  const log = openLog({ pool, report: () => {} })
  for (const id of ['a', 'b', 'c', 'd']) await create(log, id)
  await rename(log, 'b', 'x')
  for (const projected of [false, true]) {
    if (projected) await projectSessions(pool)
    t.same(await pages(pool, { limit: 3, order: 'updated' }), [['b', 'd', 'c'], ['a']])
  }
  await log[Symbol.asyncDispose]()
})

t.test(
  'what was just written is listed as it is, wherever the projector stands, and only to its tenant',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    await create(log, 'run', { title: 'Runs', project: 'p\u0000', parent: { sessionId: 'par' } })
    await create(log, 'idle', { title: 'Idle' })
    await create(log, 'old', { title: 'Old' })
    await create(log, 'gone', { title: 'Gone' })
    const list = async (query: Partial<SessionsQuery>) =>
      (await listSessions(pool, { tenant: 1, limit: 50, order: 'created', ...query })).data.map(
        (s) => s.sessionId,
      )
    for (const projected of [false, true]) {
      if (projected) await projectSessions(pool)
      else {
        await log.execute({ tenant: 1, sessionId: 'run', ...startTurn('trn_1') })
        await log.execute({
          tenant: 1,
          sessionId: 'old',
          kind: 'append',
          events: [event('session.archived', {})],
        })
        await log.execute({ tenant: 1, sessionId: 'gone', kind: 'delete', eventId: 'evt_gone' })
      }
      t.same(await list({}), ['idle', 'run'], 'archived and deleted ones are hidden')
      t.same(await list({ status: 'archived' }), ['old'])
      t.same(await list({ status: 'running' }), ['run'])
      t.same(await list({ status: 'idle' }), ['idle'])
      t.same(await list({ project: 'p\u0000' }), ['run'])
      t.same(await list({ parent: 'par' }), ['run'])
      t.same(await list({ search: 'iDL' }), ['idle'])
      t.same(await list({ tenant: 2 }), [])
    }
    await log[Symbol.asyncDispose]()
  },
)
