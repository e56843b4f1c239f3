import t from 'tap'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { openDataDir } from '../../../test/harness/data-dir.ts'
import { spawnEmbedded } from '../../../test/harness/embedded-child.ts'
import { openPool } from '../pool.ts'
import { canEnter } from './choose-places.ts'
import { processStart } from './process-alive.ts'
import type { SystemUser } from './run-program.ts'
import { startEmbedded } from './start-embedded.ts'

const isRoot = process.getuid?.() === 0
const silent = { log: () => {} }

const ask = async (url: string, sql: string): Promise<unknown> => {
  await using pool = openPool({ url, max: 1, applicationName: 'test' })
  const rows = await pool.use((one) => one.query(sql))
  return rows[0]
}

const gone = async (pid: number): Promise<boolean> => {
  for (let waits = 0; waits < 200 && processStart(pid); waits += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return processStart(pid) === undefined
}

t.test(
  'the first start makes a cluster, and later ones find its data, port and password',
  async (t) => {
    using dataDir = openDataDir()
    const first = await startEmbedded({ dataDir: dataDir.path, ...silent })
    t.match(first, { joined: false, dataDir: dataDir.path, version: /^\d+\.\d+$/ })
    t.equal(statSync(join(dataDir.path, 'postgres.json')).mode & 0o777, 0o600)
    await ask(first.url, `create table kept as select 'yes' as is_kept`)
    t.match(
      await ask(
        first.url,
        `select current_setting('fsync') as fsync, current_setting('max_connections') as most,
         current_setting('listen_addresses') as host, current_setting('server_encoding') as encoding`,
      ),
      { fsync: 'on', most: '200', host: '127.0.0.1', encoding: 'UTF8' },
    )
    t.equal(await first.stop(), 'stopped')
    t.ok(await gone(first.pid))
    const second = await startEmbedded({ dataDir: dataDir.path, ...silent })
    t.equal(second.url, first.url)
    t.strictSame(await ask(second.url, 'select is_kept from kept'), { is_kept: 'yes' })
    const wrong = second.url.replace(/:[^:@/]+@/, ':wrong@')
    await t.rejects(ask(wrong, 'select 1'), { code: '28P01' })
    t.equal(await second.stop(), 'stopped')
    t.equal(await second.stop(), 'stopped', 'twice is once')
  },
)

t.test(
  'starts at once on one empty directory share one server, and the last one stops it',
  async (t) => {
    using dataDir = openDataDir()
    const children = Array.from({ length: 4 }, () => spawnEmbedded(dataDir.path))
    const started = await Promise.all(children.map((child) => child.started))
    t.equal(new Set(started.map(({ url, pid }) => `${pid} ${url}`)).size, 1)
    t.equal(started.filter(({ joined }) => !joined).length, 1)
    const outcomes: string[] = []
    // Who started it leaves first.
    const order = children.toSorted(
      (a, b) =>
        Number(started[children.indexOf(a)]!.joined) - Number(started[children.indexOf(b)]!.joined),
    )
    for (const child of order) outcomes.push(await child.stop())
    t.strictSame(outcomes, ['left running', 'left running', 'left running', 'stopped'])
    t.ok(await gone(started[0]!.pid))
  },
)

t.test('after kill -9 the server lives on, and the next start joins it and stops it', async (t) => {
  using dataDir = openDataDir()
  const child = spawnEmbedded(dataDir.path)
  const { pid, url } = await child.started
  await child.kill('SIGKILL')
  t.ok(processStart(pid))
  const next = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.match(next, { joined: true, pid, url })
  t.equal(await next.stop(), 'stopped')
  t.ok(await gone(pid))
})

t.test('Ctrl-C in the terminal does not reach the server', async (t) => {
  using dataDir = openDataDir()
  const child = spawnEmbedded(dataDir.path)
  const { pid } = await child.started
  await child.kill('SIGINT')
  t.ok(processStart(pid))
  const next = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.equal(next.joined, true)
  t.equal(await next.stop(), 'stopped')
})

t.test('a server that was killed itself is recovered by the next start', async (t) => {
  using dataDir = openDataDir()
  const first = await startEmbedded({ dataDir: dataDir.path, ...silent })
  await ask(first.url, `create table kept as select 'yes' as is_kept`)
  process.kill(first.pid, 'SIGKILL')
  t.ok(await gone(first.pid))
  const second = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.equal(second.joined, false)
  t.strictSame(await ask(second.url, 'select is_kept from kept'), { is_kept: 'yes' })
  t.equal(await second.stop(), 'stopped')
})

t.test('a port that somebody else has taken is changed for another, which is kept', async (t) => {
  using dataDir = openDataDir()
  const first = await startEmbedded({ dataDir: dataDir.path, ...silent })
  await first.stop()
  const squatter = createServer()
  await new Promise<void>((resolve) => squatter.listen(first.port, '127.0.0.1', resolve))
  const second = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.not(second.port, first.port)
  await second.stop()
  squatter.close()
  const third = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.equal(third.port, second.port)
  t.equal(await third.stop(), 'stopped')
})

t.test('a server that another of ours uses by its url is left running', async (t) => {
  using dataDir = openDataDir()
  const server = await startEmbedded({ dataDir: dataDir.path, ...silent })
  const pool = openPool({ url: server.url, max: 1, applicationName: 'stemma' })
  await pool.use((one) => one.query('select 1'))
  t.equal(await server.stop(), 'left running')
  t.strictSame(await pool.use((one) => one.query('select 1 as n')), [{ n: 1 }])
  await pool[Symbol.asyncDispose]()
  const last = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.equal(last.joined, true)
  t.equal(await last.stop(), 'stopped')
})

t.test('what a start that was killed has left is cleared away', async (t) => {
  using dataDir = openDataDir()
  // A lock of a process that has died, and a pid file that names a process which is no PostgreSQL.
  writeFileSync(join(dataDir.path, 'postgres.lock'), '4194300 12345 stale\n')
  const first = await startEmbedded({ dataDir: dataDir.path, ...silent })
  process.kill(first.pid, 'SIGKILL')
  t.ok(await gone(first.pid))
  const pidFile = join(dataDir.path, 'postgres', 'postmaster.pid')
  writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, '1'))
  const second = await startEmbedded({ dataDir: dataDir.path, ...silent })
  t.equal(second.joined, false)
  t.equal(await second.stop(), 'stopped')
  t.notOk(existsSync(join(dataDir.path, 'postgres.lock')))
})

t.test('a start that cannot succeed says why', async (t) => {
  using dataDir = openDataDir()
  const server = await startEmbedded({ dataDir: dataDir.path, ...silent })
  await server.stop()
  const version = join(dataDir.path, 'postgres', 'PG_VERSION')
  const made = readFileSync(version, 'utf8')
  const start = () => startEmbedded({ dataDir: dataDir.path, ...silent })
  writeFileSync(version, '9\n')
  await t.rejects(start(), /made by PostgreSQL 9, and this is/)
  writeFileSync(version, made)
  const configuration = join(dataDir.path, 'postgres', 'postgresql.conf')
  const good = readFileSync(configuration, 'utf8')
  writeFileSync(configuration, `${good}\nnonsense = 1\n`)
  await t.rejects(start(), /does not start[^]*nonsense/)
  writeFileSync(configuration, good)
  writeFileSync(join(dataDir.path, 'postgres.json'), '{"port": 1}')
  await t.rejects(start(), /postgres\.json is damaged/)
})

t.test(
  'root keeps what the database user cannot reach below /var/lib/stemma, and says so',
  { skip: isRoot ? false : 'runs as root only' },
  async (t) => {
    using dataDir = openDataDir()
    chmodSync(dataDir.path, 0o700)
    const lines: string[] = []
    const options = { dataDir: join(dataDir.path, 'data'), log: (line: string) => lines.push(line) }
    const first = await startEmbedded(options)
    t.teardown(() => rmSync(first.dataDir, { recursive: true, force: true }))
    t.match(first.dataDir, /^\/var\/lib\/stemma\/data\/data-[0-9a-f]{8}$/)
    t.ok(lines.some((line) => line.includes(first.dataDir)))
    await first.stop()
    const second = await startEmbedded(options)
    t.equal(second.url, first.url)
    t.equal(await second.stop(), 'stopped')
  },
)

/** A user who owns nothing here; undefined if we are not root, or it cannot reach what it must run. */
const findNobody = (): SystemUser | undefined => {
  if (!isRoot) return undefined
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  const nobody = line && { name: 'nobody', uid: Number(line[1]), gid: Number(line[2]) }
  const needed = [dirname(process.execPath), import.meta.dirname]
  return nobody && needed.every((folder) => canEnter(folder, nobody)) ? nobody : undefined
}

const nobody = findNobody()

t.test(
  'an ordinary user starts it without any other user',
  { skip: nobody ? false : 'without root all tests do; with root nobody must reach this folder' },
  async (t) => {
    using dataDir = openDataDir()
    chmodSync(dataDir.path, 0o777)
    const { uid, gid } = nobody!
    const child = spawnEmbedded(join(dataDir.path, 'data'), { uid, gid })
    const started = await child.started
    t.equal(statSync(join(started.dataDir, 'postgres')).uid, uid)
    t.equal(statSync(started.dataDir).mode & 0o777, 0o700)
    t.equal(await child.stop(), 'stopped')
  },
)
