import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { seeded } from '../../test/harness/seeded.ts'
import type { Pool } from '../database/pool.ts'
import { runTransaction } from '../database/run-transaction.ts'
import { readSession } from '../log/load-session.ts'
import { openLog, type Log } from '../log/open-log.ts'
import { projectSessions } from '../projector/project-sessions.ts'
import { readTree, type TreeMember } from './read-tree.ts'

const create = (log: Log, sessionId: string, parent?: string, tenant = 1) =>
  log.execute({
    tenant,
    sessionId,
    kind: 'create',
    event: event('session.created', { ...(parent && { parent: { sessionId: parent } }) }),
  })

const treeOf = (pool: Pool, sessionId: string): Promise<readonly TreeMember[]> =>
  runTransaction(pool, { isolation: 'repeatable read', readOnly: true }, async (connection) => {
    const root = await readSession(connection, { tenant: 1, sessionId })
    return readTree(connection, root!)
  })

const ids = (members: readonly TreeMember[]): string[] => members.map((m) => m.sessionId)

t.test('a tree is the session and all its descendants, never older than the log', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await using log = openLog({ pool, report: () => {} })
  await create(log, 'root')
  await create(log, 'a', 'root')
  await create(log, 'b', 'root')
  await create(log, 'other')
  await create(log, 'of-other', 'other')
  t.same(ids(await treeOf(pool, 'root')), ['root', 'a', 'b'], 'before anything is kept')
  while (await projectSessions(pool));
  await create(log, 'a1', 'a')
  await create(log, 'b1', 'b')
  await create(log, 'a2', 'a')
  await create(log, 'deep', 'a2')
  const tree = await treeOf(pool, 'root')
  t.same(ids(tree), ['root', 'a', 'b', 'a1', 'b1', 'a2', 'deep'], 'kept and new together')
  t.same(
    tree.map((m) => m.parentSessionId),
    [undefined, 'root', 'root', 'a', 'b', 'a', 'a2'],
  )
  while (await projectSessions(pool));
  t.same(await treeOf(pool, 'root'), tree, 'all of it kept')
  t.same(ids(await treeOf(pool, 'a')), ['a', 'a1', 'a2', 'deep'])
  t.same(ids(await treeOf(pool, 'deep')), ['deep'])
})

t.test('a tree names its deleted members, and goes on below them', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await using log = openLog({ pool, report: () => {} })
  await create(log, 'root')
  await create(log, 'a', 'root')
  await create(log, 'a1', 'a')
  await log.execute({ tenant: 1, sessionId: 'a', kind: 'delete', eventId: 'evt_gone' })
  for (const when of ['not kept', 'kept']) {
    const tree = await treeOf(pool, 'root')
    t.same(
      tree.map(({ sessionId, deleted }) => [sessionId, deleted]),
      [
        ['root', undefined],
        ['a', true],
        ['a1', undefined],
      ],
      when,
    )
    while (await projectSessions(pool));
  }
})

t.test('a tree of another tenant with the same ids is another tree', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await using log = openLog({ pool, report: () => {} })
  await pool.use((c) => c.query(`insert into stemma.tenant (name) values ('other')`))
  const [row] = await pool.use((c) =>
    c.query<{ tenant: number }>(`select tenant from stemma.tenant where name = 'other'`),
  )
  await create(log, 'root')
  await create(log, 'mine', 'root')
  await create(log, 'root', undefined, row!.tenant)
  await create(log, 'theirs', 'root', row!.tenant)
  for (const when of ['not kept', 'kept']) {
    t.same(ids(await treeOf(pool, 'root')), ['root', 'mine'], when)
    while (await projectSessions(pool));
  }
})

t.test('parents that come later, and parents in a circle, give each session once', async (t) => {
  await using database = await openTestDatabase()
  const { pool } = database
  await using log = openLog({ pool, report: () => {} })
  await create(log, 'early', 'late')
  await create(log, 'itself', 'itself')
  await create(log, 'x', 'z')
  await create(log, 'y', 'x')
  while (await projectSessions(pool));
  await create(log, 'z', 'y')
  await create(log, 'late')
  for (const when of ['not kept', 'kept']) {
    t.same(ids(await treeOf(pool, 'late')), ['late', 'early'], when)
    t.same(ids(await treeOf(pool, 'itself')), ['itself'], when)
    t.same(ids(await treeOf(pool, 'x')), ['x', 'y', 'z'], when)
    t.same(ids(await treeOf(pool, 'z')), ['z', 'x', 'y'], when)
    while (await projectSessions(pool));
  }
})

t.test('random trees, kept up to random points, are those of the log', async (t) => {
  const random = seeded(9)
  await using database = await openTestDatabase()
  const { pool } = database
  await using log = openLog({ pool, report: () => {} })
  const parents = new Map<string, string>()
  const named = (n: number): string => `s${n}`
  for (let n = 0; n < 60; n += 1) {
    // Any session of the sixty, itself and those to come included.
    const parent = random() < 0.8 ? named(Math.floor(random() * 60)) : undefined
    if (parent) parents.set(named(n), parent)
    await create(log, named(n), parent)
    if (random() < 0.1) await projectSessions(pool)
  }
  for (let n = 0; n < 60; n += 7) {
    const expected = new Set([named(n)])
    for (let before = 0; before < expected.size;) {
      before = expected.size
      for (const [child, parent] of parents) if (expected.has(parent)) expected.add(child)
    }
    t.same(ids(await treeOf(pool, named(n))).toSorted(), [...expected].toSorted(), named(n))
  }
})
