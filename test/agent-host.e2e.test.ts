import t from 'tap'
import { createLane } from '../services/lane.ts'
import { checkHosted } from './harness/check-hosted.ts'
import { openTestDatabase } from './harness/database.ts'
import { openDataDir } from './harness/data-dir.ts'
import { openForgetfulProxy } from './harness/forgetful-proxy.ts'
import { startHost, startProgram, type HostProcess } from './harness/host-process.ts'
import { openHostedSession, type HostedSession } from './harness/hosted-session.ts'
import { startServer } from './harness/server-process.ts'

/** Each point in each way, and all pairs of points. */
const isLong = process.env['STEMMA_TEST_LONG'] === '1'
t.setTimeout(isLong ? 7_200_000 : 300_000)
/** How a host's turn comes free: its lease lapses, a supervisor reports its end, it is started again. */
const ways = ['lease', 'report', 'restart'] as const
type Way = (typeof ways)[number]

const database = await openTestDatabase()
const server = await startServer({ DATABASE_URL: database.url })
const compiled = openDataDir()
t.teardown(async () => {
  compiled[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
const { url } = server
let sessions = 0
const openSession = () => openHostedSession(url, `ses_${(sessions += 1)}`)
/** Runs at a time: some wait for a lease to lapse. */
const lane = createLane(6)
/** What is wrong with all of these runs. One that breaks off is wrong, and holds up no other. */
const faultsOf = async (runs: readonly (() => Promise<string[]>)[]): Promise<string[]> => {
  const faults = runs.map((run) => lane(run).catch((error: unknown) => [String(error)]))
  return (await Promise.all(faults)).flat()
}

const hostOf = (
  { sessionId, folder }: HostedSession,
  name: string,
  options: {
    readonly lifetime?: 'lease' | 'process'
    readonly stopAt?: string
    readonly url?: string
  } = {},
): ReturnType<typeof startHost> =>
  startHost({
    url,
    sessionId,
    folder,
    compiled: compiled.path,
    ownerId: `${sessionId}_${name}`,
    lifetime: 'process',
    ...options,
  })

/** The points of a host's run that nobody stops, by what they are. */
const readPoints = async (): Promise<string[]> => {
  await using hosted = await openSession()
  hosted.answerAll()
  await using host = hostOf(hosted, 'a', { stopAt: 'all' })
  await host.ended
  return [...host.output().matchAll(/point \d+ (.*)/g)].map(([, what]) => what!)
}

const mayLeaveUnknown = /^during .*tool\.dispatched|^(before|during) append_ledger/

/** Hosts one after another, each killed at its point, and one more that ends the turn. What is wrong then. */
const runKilled = async (stops: readonly number[], way: Way): Promise<string[]> => {
  await using hosted = await openSession()
  hosted.answerAll()
  const faults: string[] = []
  let unknown = 0
  for (const [n, stop] of [...stops, undefined].entries()) {
    const stopAt = stop === undefined ? {} : { stopAt: `${stop}:SIGKILL` }
    const name = way === 'restart' ? 'same' : String(n)
    const lifetime = way === 'lease' ? 'lease' : 'process'
    await using host = hostOf(hosted, name, { lifetime, ...stopAt })
    const how = await host.ended
    const point = /point \d+ (.*)/.exec(host.output())?.[1]
    if (point && mayLeaveUnknown.test(point)) unknown += 1
    if (n === 0 && how !== 'SIGKILL') faults.push(`it was not killed, but ended with ${how}`)
    if (how !== 0 && point === undefined)
      faults.push(`host ${n} ended with ${how}: ${host.output()}`)
    // A turn that is over before a later point is reached is well.
    if (how === 0) break
    if (way === 'report') await hosted.reportExit(host.ownerId)
  }
  faults.push(...(await checkHosted(hosted, { unknown })))
  return faults.map((fault) => `killed at ${stops.join(', ')} (${way}): ${fault}`)
}

const points = await readPoints()

t.test(
  'a host that is killed at any of its points is taken over, and has each once effect at most once',
  async (t) => {
    t.ok(points.length > 50, `there are ${points.length} points`)
    const runs = points.flatMap((_, n) =>
      ways
        // An act's two points come free in one way, the next act's in another.
        .filter((_way, kind) => isLong || (n >> 1) % ways.length === kind)
        .map((way) => () => runKilled([n + 1], way)),
    )
    t.same(await faultsOf(runs), [])
  },
)

t.test('a host that took over is killed as well, and a third ends the turn', async (t) => {
  const all = points.flatMap((_, first) => points.map((__, second) => [first + 1, second + 1]))
  // Without order, so that over the points each is somewhere first and second.
  const pairs = isLong ? all : all.filter((_, n) => n % 421 === 17)
  const runs = pairs.map((stops, n) => () => runKilled(stops, n % 2 === 0 ? 'report' : 'restart'))
  t.same(await faultsOf(runs), [])
})

/** The first host stalls at the point, and wakes when a second has its turn. What is wrong then. */
const runStalled = async (point: number): Promise<string[]> => {
  await using hosted = await openSession()
  // Where it stalls before the question, it is still there when the second one asks.
  const isBefore = point < asks
  if (!isBefore) hosted.answerAll()
  await using slow = hostOf(hosted, 'slow', { lifetime: 'lease', stopAt: `${point}:SIGSTOP` })
  await slow.until(/point/)
  await using quick = hostOf(hosted, 'quick')
  await quick.until(/claimed turn/)
  slow.child.kill('SIGCONT')
  await slow.until(/stopped turn \S+ fenced/)
  hosted.answerAll()
  const codes = await Promise.all([slow.ended, quick.ended])
  const faults = await checkHosted(hosted, { unknown: 1, slow: true })
  if (codes.join() !== '0,0') faults.push(`${slow.output()}${quick.output()}`)
  return faults.map((fault) => `stalled at ${point}: ${fault}`)
}

const pointOf = (what: RegExp): number => points.findIndex((point) => what.test(point)) + 1
const asks = pointOf(/^before .*request\.opened/)

t.test(
  'a host that stalls and wakes after it was taken over is fenced and stops: nothing of it follows the claim',
  async (t) => {
    // Between the turn's start and its end.
    const inTurn = points
      .map((_, n) => n + 1)
      .slice(pointOf(/^before .*step\.started/) - 1, pointOf(/^before .*turn\.ended/))
    const ledger = pointOf(/^before append_ledger/)
    const chosen = [
      pointOf(/^before .*step\.started/),
      pointOf(/^during .*tool\.dispatched/),
      // Its lease lapses between the dispatch and the effect: only the outside can tell.
      ledger,
      ledger + 2,
      pointOf(/^before save_note/),
      pointOf(/^before .*turn\.ended/),
    ]
    const runs = (isLong ? inTurn : chosen).map((point) => () => runStalled(point))
    t.same(await faultsOf(runs), [])
  },
)

/** Kills a host when its question is open. */
const killWhenAsked = async (hosted: HostedSession, host: HostProcess) => {
  await hosted.until(({ openRequests }) => openRequests.length > 0)
  host.child.kill('SIGKILL')
  await host.ended
  return hosted.session()
}

t.test('a question outlives its host, and its answer reaches whoever takes over', async (t) => {
  const run = async (answered: 'before' | 'after'): Promise<void> => {
    await using hosted = await openSession()
    await using a = hostOf(hosted, 'a')
    const { openRequests } = await killWhenAsked(hosted, a)
    t.equal(openRequests.length, 1, 'it is open when its host is dead')
    if (answered === 'before') {
      hosted.answerAll()
      await hosted.until((session) => session.openRequests.length === 0)
    }
    await hosted.reportExit(a.ownerId)
    await using b = hostOf(hosted, 'b')
    if (answered === 'after') {
      const taken = await hosted.until(({ turn }) => turn?.fence === 2)
      t.same(taken.openRequests, openRequests, 'under the same id')
      hosted.answerAll()
    }
    t.equal(await b.ended, 0, b.output())
    t.same(await checkHosted(hosted, { unknown: 0 }), [], `answered ${answered} the claim`)
  }
  await Promise.all([run('before'), run('after')])
})

t.test('a turn that is asked to stop is ended by its host, or by the next', async (t) => {
  const run = async (isKilled: boolean): Promise<void> => {
    await using hosted = await openSession()
    await using a = hostOf(hosted, 'a')
    if (isKilled) await killWhenAsked(hosted, a)
    else await hosted.until(({ openRequests }) => openRequests.length > 0)
    await hosted.interrupt('enough')
    if (isKilled) {
      await using b = hostOf(hosted, 'b')
      await hosted.reportExit(a.ownerId)
      t.equal(await b.ended, 0, b.output())
    } else t.equal(await a.ended, 0, a.output())
    const { status, openRequests } = await hosted.session()
    t.match({ status, openRequests }, { status: 'idle', openRequests: [] })
    const ended = (await hosted.events()).at(-1)
    t.match(ended, {
      type: 'turn.ended',
      data: { outcome: 'interrupted', interrupt: { reason: 'enough' } },
    })
  }
  await Promise.all([run(false), run(true)])
})

t.test('a host that loses the first answer to each of its writes does each once', async (t) => {
  await using proxy = await openForgetfulProxy(url)
  const run = async (stopAt: number | undefined): Promise<void> => {
    await using hosted = await openSession()
    hosted.answerAll()
    if (stopAt !== undefined) {
      await using a = hostOf(hosted, 'a', { stopAt: `${stopAt}:SIGKILL` })
      await a.ended
      await hosted.reportExit(a.ownerId)
    }
    await using b = hostOf(hosted, 'b', { url: proxy.url })
    t.equal(await b.ended, 0, b.output())
    t.same(await checkHosted(hosted, { unknown: 0 }), [])
    // A registration that was made twice would be of incarnation 2: the report would be refused.
    await hosted.reportExit(b.ownerId)
  }
  await Promise.all([run(undefined), run(pointOf(/^before append_ledger/) + 2)])
  t.ok(proxy.lost() > 30, `${proxy.lost()} answers were lost`)
})

t.test('the program of the README runs a turn and leaves when it is told to', async (t) => {
  await using hosted = await openSession()
  hosted.answerAll()
  const { sessionId, folder } = hosted
  await using host = startProgram(['--url', url, '--project', sessionId, '--folder', folder])
  await host.until(/ended turn/)
  host.child.kill('SIGINT')
  t.equal(await host.ended, 0, host.output())
  t.same(await checkHosted(hosted, { unknown: 0 }), [])
})
