import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { hashOf } from '../api/access/hash-of.ts'
import { openDataDir } from '../../test/harness/data-dir.ts'
import { openTestDatabase } from '../../test/harness/database.ts'
import { runCommand, type CommandResult } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'

// Processes in each test.
t.setTimeout(300_000)

type Made = { readonly token: string; readonly entry: object }

const make = async (subject: string, scopes: string): Promise<Made> => {
  const argv = ['token', '--json', '--subject', subject, '--scopes', scopes, '--tenant', 'team']
  return JSON.parse((await runCommand(argv)).stdout) as Made
}

const fileOf = (folder: string) => {
  const file = join(folder, 'tokens.json')
  const write = (...made: readonly Made[]): void =>
    writeFileSync(file, JSON.stringify(made.map(({ entry }) => entry)), { mode: 0o600 })
  return { file, write }
}

t.test('a token is printed with its entry, each time another, and the file takes it', async (t) => {
  const argv = ['token', '--subject', 'kim', '--scopes', 'read, append']
  const { code, stdout, stderr } = await runCommand(argv)
  t.same([code, stderr], [0, ''])
  t.match(
    stdout,
    /^token {2}stm_[A-Za-z0-9_-]{43}\nentry {2}\{"sha256":"[0-9a-f]{64}","tenant":"default","subject":"kim","scopes":\["read","append"\]\}\n$/,
  )
  t.not((await make('kim', 'read')).token, /stm_\S+/.exec(stdout)![0])
})

t.test(
  'beyond loopback the service starts with tokens only, and serves the command line by them',
  async (t) => {
    using folder = openDataDir()
    await using database = await openTestDatabase()
    const { file, write } = fileOf(folder.path)
    const bare = { DATABASE_URL: database.url, STEMMA_HOST: '0.0.0.0' }
    await t.rejects(startServer(bare), /^it ended with 1:[^]*only with tokens/)
    write()
    const environment = { ...bare, STEMMA_TOKENS_FILE: file }
    await t.rejects(startServer(environment), /^it ended with 2:[^]*it has no entry/)

    const kim = await make('kim', 'read,import')
    const lee = {
      token: 'stm_lee',
      entry: { sha256: hashOf('stm_lee'), tenant: 'other', subject: 'lee', scopes: ['read'] },
    }
    write(kim, lee)
    await using server = await startServer(environment)
    t.match(server.output(), /^try {8}STEMMA_URL=\S+ STEMMA_TOKEN=… npx stemma import /m)
    const { port } = new URL(server.url)
    const url = `http://127.0.0.1:${port}`
    const run = (token: string | undefined, ...argv: string[]): Promise<CommandResult> =>
      runCommand(argv, { STEMMA_URL: url, ...(token !== undefined && { STEMMA_TOKEN: token }) })

    const listed = async ({ token }: Made): Promise<number | string[]> => {
      const reply = await fetch(`${url}/v1/sessions`, {
        headers: { authorization: `Bearer ${token}` },
      })
      if (!reply.ok) return reply.status
      const { data } = (await reply.json()) as { data: { sessionId: string }[] }
      return data.map(({ sessionId }) => sessionId)
    }

    const recording = 'test/recordings/opencode-v2/unicode.json'
    t.equal((await run(kim.token, 'import', recording)).code, 0)
    t.match(await listed(kim), [/^ses_/])
    t.same(await listed(lee), [], 'of another tenant')
    for (const [token, ...says] of [
      [undefined, /No valid token was given \(unauthorized\)/, /Set STEMMA_TOKEN to/],
      ['stm_wrong', /No valid token was given \(unauthorized\)/, /Set STEMMA_TOKEN to/],
      [lee.token, /forbidden/, /this takes the scope import/],
    ] as const) {
      const argv = token === lee.token ? ['import', recording] : ['sessions']
      const refused = await run(token, ...argv)
      t.same([refused.code, refused.stdout], [1, ''])
      for (const line of says) t.match(refused.stderr, line)
    }

    write(kim)
    for (let tries = 0; (await listed(lee)) !== 401 && tries < 100; tries += 1) await sleep(200)
    t.equal(await listed(lee), 401, 'taken out of the file, it is taken no more')
    t.match(await listed(kim), [/^ses_/])

    writeFileSync(file, 'faulty')
    const reported = (): boolean => server.output().includes('the tokens stay as they were')
    for (let tries = 0; !reported() && tries < 100; tries += 1) await sleep(200)
    t.ok(reported())
    t.match(await listed(kim), [/^ses_/])
    for (const { token } of [kim, lee]) t.notMatch(server.output(), token)
    t.equal(await server.end('SIGTERM'), 0)
  },
)
