import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { readRecording } from '../../test/harness/opencode-messages.ts'
import { runCommand } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'

const nobody = { STEMMA_URL: 'http://127.0.0.1:1' }

t.test('help is printed for the whole and for each command', async (t) => {
  const whole = await runCommand(['--help'])
  t.equal(whole.code, 0)
  for (const name of [
    'serve',
    'migrate',
    'rebuild',
    'projections',
    'import',
    'sessions',
    'show',
    'tail',
    'work',
    'token',
  ]) {
    t.match(whole.stdout, new RegExp(`^  ${name} `, 'm'))
    const { code, stdout, stderr } = await runCommand([name, '--help'], nobody)
    t.same([code, stderr], [0, ''])
    t.match(stdout, new RegExp(`^stemma ${name}`))
  }
})

t.test(
  'a wrong command line is told from a failure: exit code 2, and how it should be',
  async (t) => {
    for (const argv of [
      [],
      ['bogus'],
      ['show'],
      ['show', 'a', 'b'],
      ['tail'],
      ['tail', 'a', '--all'],
      ['tail', '--all', '--live'],
      ['tail', 'a', '--after', '-1'],
      ['tail', 'a', '--types', 'text.end'],
      ['work', 'x'],
      ['work', '--bogus'],
      ['sessions', 'x'],
      ['sessions', '--limit', '0'],
      ['sessions', '--order', 'up'],
      ['sessions', '--bogus'],
      ['import'],
      ['serve', 'x'],
      ['migrate', '--bogus'],
      ['token', '--scopes', 'read'],
      ['token', '--subject', 'kim'],
      ['token', '--subject', 'kim', '--scopes', 'reed'],
      ['token', '--subject', 'kim', '--scopes', 'read', '--tenant', 'a b'],
      ['rebuild'],
      ['rebuild', 'sessions'],
      ['rebuild', 'transcript', '--workers', '0'],
      ['projections', 'x'],
    ]) {
      const { code, stdout, stderr } = await runCommand(argv, nobody)
      t.equal(code, 2, argv.join(' '))
      t.match(argv.length === 0 ? stdout : stderr, /stemma/)
      t.notMatch(stderr, /\n {4}at /)
    }
    const settings = await runCommand(['sessions'], { STEMMA_URL: 'nonsense' })
    t.equal(settings.code, 2)
    t.match(settings.stderr, /STEMMA_URL/)
  },
)

t.test('where nobody answers, the command says how to start the service', async (t) => {
  for (const argv of [
    ['sessions'],
    ['projections'],
    ['show', 'ses_1'],
    ['show', 'ses_1', '--follow'],
    ['tail', 'ses_1'],
    ['tail', '--all'],
    ['work'],
    ['work', '--follow'],
    ['import', 'test/recordings/opencode-v2/unicode.json'],
  ]) {
    const { code, stdout, stderr } = await runCommand(argv, nobody)
    t.same([code, stdout], [1, ''])
    t.match(stderr, /no service answers at http:\/\/127\.0\.0\.1:1/)
    t.match(stderr, /npm start/)
  }
})

t.test('a session from import to transcript', async (t) => {
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  const environment = { STEMMA_URL: `${server.url}/` }
  const run = (...argv: string[]) => runCommand(argv, environment)

  const empty = await run('sessions')
  t.match(empty.stdout, /there are no sessions yet/)

  const imported = await run(
    'import',
    'test/recordings/opencode-v2/{unicode,two-prompts}.json',
    'package.json',
    'no-such-file.json',
  )
  t.equal(imported.code, 1, 'a file that fails does not stop the others, and is not forgotten')
  t.equal(imported.stdout.split('\n').filter((line) => line.startsWith('ses_')).length, 2)
  t.match(imported.stderr, /package\.json: not imported: no adapter knows/)
  t.match(imported.stderr, /no-such-file\.json: not imported: ENOENT/)

  const json = await run('sessions', '--json')
  const { data } = JSON.parse(json.stdout) as { data: { sessionId: string; title: string }[] }
  t.equal(data.length, 2)
  const [{ sessionId, title }] = data as [(typeof data)[0]]
  const table = await run('sessions', '--search', title.slice(-8))
  t.match(table.stdout, sessionId)
  t.match((await run('sessions', '--search', 'nothing has this')).stdout, /no session has that/)
  const paged = await runCommand(['sessions', '--json', '--order', 'updated'], {
    ...environment,
    STEMMA_MAX_PAGE: '1',
    STEMMA_DEFAULT_PAGE: '1',
  })
  t.equal((JSON.parse(paged.stdout) as { data: unknown[] }).data.length, 2)

  const shown = await run('show', sessionId)
  t.same([shown.code, shown.stderr], [0, ''])
  t.match(shown.stdout, title)
  // oxlint-disable-next-line no-control-regex
  t.notMatch(shown.stdout, /[\u0000-\u0008\u000b-\u001f]/, 'no colours where no terminal is')
  const whole = JSON.parse((await run('show', '--json', sessionId)).stdout) as {
    session: { sessionId: string }
    messages: unknown[]
  }
  t.equal(whole.session.sessionId, sessionId)
  t.ok(whole.messages.length > 2)

  const missing = await run('show', 'ses_none')
  t.equal(missing.code, 1)
  t.match(missing.stderr, /There is no such session \(session_not_found\)/)
  const wrong = await run('show', 'not an id')
  t.match(wrong.stderr, /invalid_id[\s\S]*\/sessionId: /)
})

t.test('a reader that has seen enough is no failure', async (t) => {
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  const environment = { STEMMA_URL: server.url }
  await runCommand(['import', 'test/recordings/opencode-v2/long-session.json'], environment)
  const child = spawn(
    'bash',
    ['-c', `"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`, ...longShow],
    {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const [printed, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
  t.same([printed, complaints], ['{\n0\n', ''])
})

const root = fileURLToPath(new URL('../..', import.meta.url))
const longShow = [
  process.execPath,
  'services/cli/main.ts',
  'show',
  '--json',
  readRecording('long-session').session.id,
]
