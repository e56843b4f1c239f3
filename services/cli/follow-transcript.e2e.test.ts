import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { runCommand } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'
import { startCommand } from '../../test/harness/start-command.ts'

const post = async (url: string, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`${url}/v1/sessions${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
}

const model = { modelId: 'm', providerId: 'p' }
const tokens = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }

const event = (type: string, data: unknown) => ({ type, data })
const started = (messageId: string) =>
  event('step.started', { messageId, attempt: 1, agent: 'me', model })
const said = (messageId: string, text: string) =>
  event('text.ended', { messageId, partId: 't', text })
const ended = (messageId: string) =>
  event('step.ended', { messageId, finish: 'stop', cost: 0, tokens })

/** Without its head, which says how the session is and how long ago that was. */
const bodyOf = (stdout: string): string => stdout.split('\n').slice(2).join('\n')

t.test(
  'show --follow prints each message once when it is complete, in the order of the transcript, over a server that is killed and comes back',
  async (t) => {
    await using database = await openTestDatabase()
    await using other = await startServer({ DATABASE_URL: database.url })
    let server = await startServer({ DATABASE_URL: database.url })
    t.teardown(() => server[Symbol.asyncDispose]())
    const { url } = server
    const environment = { STEMMA_URL: url }
    await post(url, '', { sessionId: 's', title: 'A turn as it happens' })
    await post(url, '/s/inputs', { messageId: 'in_1', text: 'first question' })
    await post(url, '/s/turns', {
      turnId: 'trn_1',
      ownerId: 'me',
      incarnation: 1,
      inputs: ['in_1'],
    })
    const write = (at: string, ...events: unknown[]) =>
      post(at, '/s/events', { turnId: 'trn_1', fence: 1, events })
    await write(url, started('a_1'), said('a_1', 'first answer'))

    await using shown = startCommand(['show', 's', '--follow'], environment)
    await shown.until(({ stdout }) => stdout.includes('first question'))
    t.notMatch(shown.stdout(), /first answer/, 'what is not complete waits')
    await post(url, '/s/events', {
      turnId: 'trn_1',
      fence: 1,
      events: [event('note.added', { messageId: 'n_1', role: 'system', text: 'a note within' })],
    })
    await write(url, ended('a_1'))
    await shown.until(({ stdout }) => stdout.includes('a note within'))

    await server.end('SIGKILL')
    await write(other.url, started('a_2'), said('a_2', 'second answer'), ended('a_2'))
    await write(other.url, started('a_3'), said('a_3', 'third answer'))
    await shown.until(({ stderr }) => stderr.includes('lost'))
    server = await startServer({
      DATABASE_URL: database.url,
      STEMMA_PORT: new URL(url).port,
    })
    await shown.until(({ stdout }) => stdout.includes('second answer'))
    await write(other.url, ended('a_3'))
    await write(url, event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 1 }))
    await shown.until(({ stdout }) => stdout.includes('turn completed'))

    const { code, stdout, stderr } = await shown.interrupt()
    t.equal(code, 0)
    t.match(
      stderr,
      /^stemma show: the service is lost; trying again\nstemma show: the service is back\n$/,
    )
    const whole = await runCommand(['show', 's'], environment)
    t.equal(bodyOf(stdout), bodyOf(whole.stdout), 'all that show prints, and nothing twice')
  },
)

t.test(
  'show --follow --json prints each message on a line, and ends with the session',
  async (t) => {
    await using database = await openTestDatabase()
    await using server = await startServer({ DATABASE_URL: database.url })
    const { url } = server
    await post(url, '', { sessionId: 's' })
    await using shown = startCommand(['show', 's', '--follow', '--json'], { STEMMA_URL: url })
    for (const n of [1, 2]) {
      await post(url, '/s/events', {
        events: [event('shell.started', { messageId: `m_${n}`, command: 'ls' })],
      })
    }
    await post(url, '/s/events', {
      events: [event('shell.ended', { messageId: 'm_2', output: 'files', exit: 0 })],
    })
    await shown.until(({ stdout }) => stdout.includes('\n'))
    await fetch(`${url}/v1/sessions/s`, { method: 'DELETE' })
    const { code, stdout, stderr } = await shown.ended
    t.equal(code, 0)
    t.match(stderr, /deleted; nothing follows/)
    t.match(JSON.parse(stdout), { messageId: 'm_2', output: 'files' })
  },
)
