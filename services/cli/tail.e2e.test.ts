import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { runCommand } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'
import { startCommand } from '../../test/harness/start-command.ts'

const call = async (url: string, method: string, path: string, body?: unknown): Promise<void> => {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
}

const rename = (url: string, sessionId: string, title: string): Promise<void> =>
  call(url, 'POST', `/v1/sessions/${sessionId}/events`, {
    events: [{ type: 'session.renamed', data: { title } }],
  })

const seqsOf = (text: string): number[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { seq: number }).seq)

const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1)

t.test(
  'tail follows over a server that is killed and comes back on the same data: nothing missed, nothing twice, and it says so once',
  async (t) => {
    await using database = await openTestDatabase()
    await using other = await startServer({ DATABASE_URL: database.url })
    let server = await startServer({ DATABASE_URL: database.url })
    t.teardown(() => server[Symbol.asyncDispose]())
    await call(server.url, 'POST', '/v1/sessions', { sessionId: 's' })
    const environment = { STEMMA_URL: server.url }
    await using one = startCommand(['tail', 's', '--json', '--after', '0'], environment)
    await using all = startCommand(['tail', '--all', '--json'], environment)
    for (let n = 2; n <= 12; n += 1) await rename(server.url, 's', `${n}`)
    for (const tail of [one, all]) {
      await tail.until(({ stdout }) => stdout.includes('"seq":12,'))
    }

    await server.end('SIGKILL')
    for (let n = 13; n <= 20; n += 1) await rename(other.url, 's', `${n}`)
    for (const tail of [one, all]) await tail.until(({ stderr }) => stderr.includes('lost'))
    const { port } = new URL(server.url)
    server = await startServer({ DATABASE_URL: database.url, STEMMA_PORT: port })
    for (let n = 21; n <= 24; n += 1) await rename(server.url, 's', `${n}`)

    for (const tail of [one, all]) {
      await tail.until(({ stdout }) => stdout.includes('"seq":24,'))
      const { code, stdout, stderr } = await tail.interrupt()
      t.equal(code, 0, 'Ctrl-C is no failure')
      const seqs = seqsOf(stdout)
      t.same(seqs, upTo(24).slice(24 - seqs.length), 'each once and in order')
      t.same(stderr.match(/the service is .*/g), [
        'the service is lost; trying again',
        'the service is back',
      ])
    }
  },
)

t.test('tail prints the last ten events on a line each, and ends with the session', async (t) => {
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  const { url } = server
  const environment = { STEMMA_URL: url }
  await call(url, 'POST', '/v1/sessions', { sessionId: 's' })
  for (let n = 2; n <= 14; n += 1) await rename(url, 's', `title ${n} \u001b[2J`)
  await call(url, 'POST', '/v1/sessions', { sessionId: 's2', title: 'another' })

  await using tail = startCommand(['tail', 's', '--live'], environment)
  await using created = startCommand(
    ['tail', '--all', '--types', 'session.created,session.deleted'],
    environment,
  )
  await tail.until(({ stdout }) => stdout.includes('title 14 '))
  await call(url, 'POST', '/v1/sessions/s/live', {
    frames: [{ messageId: 'm', partId: 'p', kind: 'text', offset: 0, delta: 'half a sen' }],
  })
  await tail.until(({ stdout }) => stdout.includes('half a sen'))
  await created.until(({ stdout }) => stdout.includes('another'))
  await call(url, 'DELETE', '/v1/sessions/s')

  const { code, stdout, stderr } = await tail.ended
  t.equal(code, 0)
  t.match(stderr, /^stemma tail: the session is deleted; nothing follows\n$/)
  const lines = stdout.trimEnd().split('\n')
  t.equal(lines.length, 12)
  t.match(lines[0], /^ +5 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}session\.renamed {7}title 5 ␛\[2J$/)
  t.match(lines[10], /live text +m\/p half a sen$/)
  t.match(lines[11], /^ +15 .* session\.deleted$/)

  await created.until(({ stdout: printed }) => printed.includes('session.deleted'))
  const printed = (await created.interrupt()).stdout.trimEnd().split('\n')
  t.equal(printed.length, 3)
  t.match(printed[1], /^s2 .* session\.created +another$/)

  const beyond = await runCommand(['tail', 's2', '--after', '99'], environment)
  t.equal(beyond.code, 1)
  t.match(beyond.stderr, /^stemma tail: the log does not reach so far/)
  const gone = await runCommand(['tail', 's'], environment)
  t.equal(gone.code, 1)
  t.match(gone.stderr, /session_deleted/)
})
