import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startEmbedded } from '../database/embedded/start-embedded.ts'
import { processStart } from '../database/embedded/process-alive.ts'
import { openPool } from '../database/pool.ts'
import { openDataDir } from '../../test/harness/data-dir.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { startServer, type ServerProcess } from '../../test/harness/server-process.ts'

// Processes and a PostgreSQL of its own in each test.
t.setTimeout(300_000)

const create = ({ url }: ServerProcess, sessionId: string) =>
  fetch(`${url}/v1/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId }),
  })

const listed = async ({ url }: ServerProcess): Promise<string[]> => {
  const page = (await (await fetch(`${url}/v1/sessions`)).json()) as {
    data: { sessionId: string }[]
  }
  return page.data.map(({ sessionId }) => sessionId)
}

/** The process of the PostgreSQL that runs in a data directory. */
const postmasterOf = (folder: string): number =>
  Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

t.test(
  'a server says what it started, how another one joins and what to try; SIGTERM stops all of it',
  async (t) => {
    using folder = openDataDir()
    await using first = await startServer({ STEMMA_DATA_DIR: folder.path })
    const said = first.output()
    t.match(said, /^database   PostgreSQL \d+\.\d+, started, on port \d+$/m)
    t.match(said, new RegExp(`^data       ${folder.path}$`, 'm'))
    t.match(said, /^try        STEMMA_URL=http:\/\/127\.0\.0\.1:\d+ npx stemma import /m)
    const joining = /^join       DATABASE_URL=(\S+) STEMMA_PORT=0 npm start$/m.exec(said)
    const postmaster = postmasterOf(folder.path)

    await using second = await startServer({ DATABASE_URL: joining![1]! })
    t.notMatch(
      second.output(),
      new URL(joining![1]!).password,
      'a password that was given is not shown',
    )
    t.equal((await create(second, 'ses_1')).status, 201)
    t.same(await listed(first), ['ses_1'], 'both serve the same sessions')

    t.equal(await second.end('SIGTERM'), 0)
    t.same(await listed(first), ['ses_1'])
    t.equal(await first.end('SIGINT'), 0)
    t.match(first.output(), /^SIGINT: stopping$/m)
    t.equal(processStart(postmaster), undefined, 'PostgreSQL has ended')
  },
)

t.test('after kill -9 the next start finds its PostgreSQL and goes on', async (t) => {
  using folder = openDataDir()
  await using killed = await startServer({ STEMMA_DATA_DIR: folder.path })
  t.equal((await create(killed, 'ses_1')).status, 201)
  const postmaster = postmasterOf(folder.path)
  t.equal(await killed.end('SIGKILL'), 'SIGKILL')
  t.ok(processStart(postmaster), 'PostgreSQL runs on')

  await using next = await startServer({ STEMMA_DATA_DIR: folder.path })
  t.match(next.output(), /^database   PostgreSQL \d+\.\d+, found running, on port \d+$/m)
  t.equal(postmasterOf(folder.path), postmaster)
  t.same(await listed(next), ['ses_1'])
  t.equal(await next.end('SIGTERM'), 0)
  t.equal(processStart(postmaster), undefined, 'and is stopped with it')
})

t.test(
  'a PostgreSQL that is killed under its server is started again, and nothing acknowledged is lost',
  async (t) => {
    using folder = openDataDir()
    await using server = await startServer({ STEMMA_DATA_DIR: folder.path })
    t.equal((await create(server, 'ses_before')).status, 201)
    const killed = postmasterOf(folder.path)
    process.kill(killed, 'SIGKILL')
    let status = 0
    for (let tries = 0; tries < 60 && status !== 201; tries += 1) {
      status = (await create(server, 'ses_after')).status
      if (status !== 201) await sleep(500)
    }
    t.equal(status, 201)
    t.same((await listed(server)).toSorted(), ['ses_after', 'ses_before'])
    t.not(postmasterOf(folder.path), killed)
    t.match(server.output(), /PostgreSQL had ended, and runs again/)
    t.equal(await server.end('SIGTERM'), 0)
  },
)

t.test('of two servers on one folder the last one to leave stops PostgreSQL', async (t) => {
  using folder = openDataDir()
  const environment = { STEMMA_DATA_DIR: folder.path }
  const servers = await Promise.all([startServer(environment), startServer(environment)])
  await using one = servers[0]
  await using two = servers[1]
  t.equal((await create(one, 'ses_1')).status, 201)
  t.equal(await one.end('SIGTERM'), 0)
  t.match(one.output(), /^PostgreSQL runs on, for the other servers on it/m)
  t.same(await listed(two), ['ses_1'])
  const postmaster = postmasterOf(folder.path)
  t.equal(await two.end('SIGTERM'), 0)
  t.equal(processStart(postmaster), undefined)
})

t.test(
  'while PostgreSQL is away every request is a 503 that says when to come back, and then all goes on',
  async (t) => {
    using folder = openDataDir()
    const start = () => startEmbedded({ dataDir: folder.path, log: () => {} })
    let postgres = await start()
    await using server = await startServer({ DATABASE_URL: postgres.url })
    t.equal((await create(server, 'ses_1')).status, 201)
    process.kill(postgres.pid, 'SIGQUIT')
    while (processStart(postgres.pid) !== undefined) await sleep(20)

    const answers = await Promise.all([
      fetch(`${server.url}/v1/sessions/ses_1`),
      fetch(`${server.url}/v1/sessions`),
      fetch(`${server.url}/v1/events`),
      fetch(`${server.url}/readyz`),
      create(server, 'ses_2'),
    ])
    for (const answer of answers) {
      const problem = (await answer.json()) as { code: string }
      t.equal(answer.status, 503, answer.url)
      t.match(problem.code, /^(overloaded|outcome_unknown)$/)
      t.match(answer.headers.get('content-type'), 'application/problem+json')
      t.ok(Number(answer.headers.get('retry-after')) >= 1)
    }
    t.equal((await fetch(`${server.url}/livez`)).status, 200, 'the process lives')

    postgres = await start()
    const deadline = Date.now() + 15_000
    while ((await fetch(`${server.url}/readyz`)).status !== 200 && Date.now() < deadline)
      await sleep(50)
    t.equal((await fetch(`${server.url}/readyz`)).status, 200)
    t.equal((await create(server, 'ses_3')).status, 201)
    t.ok((await listed(server)).includes('ses_1'))
    t.equal(await server.end('SIGTERM'), 0)
    await postgres.stop()
  },
)

t.test('a second signal ends a server at once that cannot come to its end', async (t) => {
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  await using blocker = openPool({ url: database.url, max: 1, applicationName: 'blocker' })
  await blocker.use(async (connection) => {
    await connection.query('begin')
    await connection.query('lock table stemma.session in access exclusive mode')
    const pending = create(server, 'ses_1').catch(() => undefined)
    await sleep(300)
    const ended = server.end('SIGTERM')
    await sleep(300)
    t.equal(server.child.exitCode, null, 'what is under way is waited for')
    const began = Date.now()
    server.child.kill('SIGTERM')
    t.equal(await ended, 1)
    t.ok(Date.now() - began < 2_000)
    await pending
    await connection.query('rollback')
  })
})

t.test('what keeps a server from starting is said, and its exit code is not 0', async (t) => {
  await using database = await openTestDatabase()
  for (const [environment, says] of [
    [{ STEMMA_HOST: '0.0.0.0', DATABASE_URL: database.url }, /only with tokens/],
    [{ STEMMA_HOST: '192.0.2.1', DATABASE_URL: database.url }, /only with tokens/],
    [{ DATABASE_URL: 'postgres://u:secret@127.0.0.1:9/none' }, /the database cannot be reached/],
    [{ STEMMA_PORT: 'many', DATABASE_URL: database.url }, /STEMMA_PORT/],
    [{ DATABASE_URL: 'mysql://x' }, /DATABASE_URL/],
  ] as const) {
    const error = await startServer(environment).then(
      () => undefined,
      (failure: Error) => failure,
    )
    t.match(error?.message, /^it ended with [12]:/, JSON.stringify(environment))
    t.match(error?.message, says)
    t.notMatch(error?.message, /secret/)
  }
})
