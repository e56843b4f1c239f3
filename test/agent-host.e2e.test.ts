import t from 'tap'
import { createLane } from '../services/lane.ts'
import { checkHosted } from './harness/check-hosted.ts'
import { openTestDatabase } from './harness/database.ts'
import { startHost } from './harness/host-process.ts'
import { openHostedSession } from './harness/hosted-session.ts'
import { startServer } from './harness/server-process.ts'

/** All lifetimes and all pairs of points: takes half an hour. */
const isLong = process.env['STEMMA_TEST_LONG'] !== undefined
const lifetimes = ['lease', 'process'] as const
type Lifetime = (typeof lifetimes)[number]

const database = await openTestDatabase()
const server = await startServer({ DATABASE_URL: database.url })
t.teardown(async () => {
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
const { url } = server
let sessions = 0
const openSession = () => openHostedSession(url, `ses_${(sessions += 1)}`)
/** Runs at a time: most of one is waiting for a lease to lapse. */
const lane = createLane(6)

/** The points of a host's run that nobody stops, by what they are. */
const readPoints = async (): Promise<string[]> => {
  await using hosted = await openSession()
  hosted.answerAll()
  const { sessionId, folder } = hosted
  const options = {
    url,
    sessionId,
    ownerId: `own_${sessionId}`,
    folder,
    lifetime: 'process',
  } as const
  await using host = startHost({ ...options, stopAt: 'all' })
  await host.ended
  return [...host.output().matchAll(/point \d+ (.*)/g)].map(([, what]) => what!)
}

const mayLeaveUnknown = /^after .*tool\.dispatched|^before append_ledger/

/** Hosts one after another, each killed at its point, and one more that ends the turn. What is wrong then. */
const runKilled = async (stops: readonly number[], lifetime: Lifetime): Promise<string[]> => {
  await using hosted = await openSession()
  hosted.answerAll()
  const { sessionId, folder } = hosted
  const faults: string[] = []
  let unknown = 0
  for (const [n, stop] of [...stops, undefined].entries()) {
    const options = { url, sessionId, ownerId: `${sessionId}_${n}`, folder, lifetime }
    await using host = startHost({
      ...options,
      ...(stop !== undefined && { stopAt: `${stop}:SIGKILL` }),
    })
    const how = await host.ended
    const point = /point \d+ (.*)/.exec(host.output())?.[1]
    if (point && mayLeaveUnknown.test(point)) unknown += 1
    if (how !== 0 && point === undefined)
      faults.push(`host ${n} ended with ${how}: ${host.output()}`)
    // A turn that is over before a later point is reached is well.
    if (how === 0) break
    if (lifetime === 'process') await hosted.reportExit(host.ownerId)
  }
  faults.push(...(await checkHosted(hosted, { unknown })))
  return faults.map((fault) => `killed at ${stops.join(', ')} (${lifetime}): ${fault}`)
}

const points = await readPoints()

t.test('a host that is killed at any of its points is taken over by another', async (t) => {
  t.equal(points.length, 58, 'the points are known')
  const runs = points.flatMap((_, n) =>
    lifetimes
      .filter((_lifetime, kind) => isLong || n % 2 === kind)
      .map((lifetime) => lane(() => runKilled([n + 1], lifetime))),
  )
  t.same((await Promise.all(runs)).flat(), [])
})
