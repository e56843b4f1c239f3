import t from 'tap'
import { openDataDir } from '../../test/harness/data-dir.ts'
import { runCommand } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'

t.setTimeout(300_000)

t.test(
  'a rebuild joins the embedded PostgreSQL of a running server, which goes on with the new rows',
  async (t) => {
    using folder = openDataDir()
    const environment = { STEMMA_DATA_DIR: folder.path }
    await using server = await startServer(environment)
    const post = (path: string, body: unknown) =>
      fetch(`${server.url}/v1/sessions${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const note = (messageId: string) =>
      post('/ses_1/events', {
        events: [{ type: 'note.added', data: { messageId, role: 'system', text: messageId } }],
      })
    const shown = async (): Promise<string[]> => {
      const page = await fetch(`${server.url}/v1/sessions/ses_1/messages`)
      const { data } = (await page.json()) as { data: { text: string }[] }
      return data.map(({ text }) => text)
    }
    await post('', { sessionId: 'ses_1' })
    await note('one')

    const { code, stdout } = await runCommand(['rebuild', 'transcript', '--verify'], environment)
    t.same([code, stdout], [0, 'generation 2 of the transcript is live\n'])
    await note('two')
    t.same(await shown(), ['one', 'two'])
    const listed = await runCommand(['projections'], { STEMMA_URL: server.url })
    t.equal(
      listed.stdout,
      'sessions: generation 2 is live (fold 2), generation 1 is whole\ntranscript: generation 2 is live (fold 1)\n',
    )
    t.equal(await server.end('SIGTERM'), 0)

    const alone = await runCommand(['rebuild', 'transcript', '--verify-only'], environment)
    t.same([alone.code, alone.stdout], [0, 'the rebuilt rows are the live ones: no difference\n'])
  },
)
