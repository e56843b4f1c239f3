import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { runCommand } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'
import { startCommand } from '../../test/harness/start-command.ts'

const post = async (url: string, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
}

t.test(
  'work lists what waits and follows what becomes work, over a server that is killed and comes back, each once',
  async (t) => {
    await using database = await openTestDatabase()
    await using other = await startServer({ DATABASE_URL: database.url })
    let server = await startServer({ DATABASE_URL: database.url })
    t.teardown(() => server[Symbol.asyncDispose]())
    const environment = { STEMMA_URL: server.url }
    const empty = await runCommand(['work'], environment)
    t.same([empty.code, empty.stdout], [0, ''])
    t.match(empty.stderr, /nothing waits/)
    const input = (n: number): Promise<void> =>
      post(other.url, '/v1/sessions/s/inputs', { messageId: `msg_${n}`, text: 'x' })
    const located = { location: { host: 'h', directory: '/' }, project: 'p' }
    await post(other.url, '/v1/sessions', { sessionId: 's', ...located })
    await input(1)
    t.match((await runCommand(['work', '--host', 'h'], environment)).stdout, /^input +s +msg_1\n$/)
    t.equal((await runCommand(['work', '--host', 'g'], environment)).stdout, '')
    t.equal((await runCommand(['work', '--project', 'q'], environment)).stdout, '')
    await using work = startCommand(['work', '--follow', '--json', '--project', 'p'], environment)
    await work.until(({ stdout }) => stdout.includes('msg_1'))
    await input(2)
    await work.until(({ stdout }) => stdout.includes('msg_2'))
    const { port } = new URL(server.url)
    await server.end('SIGKILL')
    await work.until(({ stderr }) => stderr.includes('lost'))
    await input(3)
    server = await startServer({ DATABASE_URL: database.url, STEMMA_PORT: port })
    await work.until(({ stdout }) => stdout.includes('msg_3'))
    await input(4)
    await work.until(({ stdout }) => stdout.includes('msg_4'))
    const { code, stdout, stderr } = await work.interrupt()
    t.equal(code, 0, 'Ctrl-C is no failure')
    const listed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    t.match(
      listed,
      [1, 2, 3, 4].map((n) => ({ kind: 'input', sessionId: 's', messageId: `msg_${n}` })),
    )
    t.equal(listed.length, 4)
    t.equal(stderr.match(/the service is back/g)?.length, 1)
  },
)
