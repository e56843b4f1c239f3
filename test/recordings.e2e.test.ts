import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildApp } from '../services/api/build-app.ts'
import { translateOpencodeV2 } from '../services/adapters/opencode-v2/translate.ts'
import { splitEvents } from '../services/adapters/split-events.ts'
import { openLog } from '../services/log/open-log.ts'
import { readSettings } from '../services/settings.ts'
import { openStreams } from './harness/streams.ts'
import { openTestDatabase } from './harness/database.ts'
import {
  comparableMessages,
  expectedMessages,
  readRecording,
  readRecordings,
  type Recording,
} from './harness/opencode-messages.ts'
import { runCommand } from './harness/run-command.ts'
import { startServer } from './harness/server-process.ts'

type Page = {
  data: { messageId: string; seq: number }[]
  cursor: { next: string | null }
  asOfSeq: number
}
type Get = (path: string) => Promise<unknown>
type ImportedFile = { sessionId: string; added: number; duplicates: number; error?: string }

const pattern = 'test/recordings/opencode-v2/*.json'

/** The whole transcript, over as many pages as there are. */
const readAllMessages = async (get: Get, sessionId: string, limit: number) => {
  const messages: Page['data'] = []
  let cursor: string | null = null
  do {
    const next: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = (await get(`/v1/sessions/${sessionId}/messages?limit=${limit}${next}`)) as Page
    messages.push(...page.data)
    cursor = page.cursor.next
  } while (cursor !== null)
  return messages
}

const compare = async (t: Test, get: Get, recording: Recording, limit = 50): Promise<void> => {
  const messages = await readAllMessages(get, recording.session.id, limit)
  t.same(
    comparableMessages(messages, recording),
    expectedMessages(recording),
    `${recording.name} says what OpenCode's own messages say`,
  )
}

const httpGet =
  (url: string): Get =>
  async (path) => {
    const response = await fetch(`${url}${path}`)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }

/** Of a session that was recorded twice, the later copy is what the store ends with. */
const earlier: ReadonlySet<string> = new Set(['question-pending', 'revert-staged'])

t.test('all recordings, imported into one store by the command line', async (t) => {
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  const get = httpGet(server.url)
  const environment = { STEMMA_URL: server.url }
  const importFiles = async (...files: string[]): Promise<ImportedFile[]> => {
    const { code, stdout, stderr } = await runCommand(['import', '--json', ...files], environment)
    t.equal(code, 0, stderr || 'the command ends well')
    return (JSON.parse(stdout) as { data: ImportedFile[] }).data
  }
  const recordings = readRecordings()
  const last = recordings.filter(({ name }) => !earlier.has(name))

  const first = await importFiles(pattern)
  t.equal(first.length, recordings.length)
  for (const recording of last) await compare(t, get, recording)

  const again = await importFiles(pattern)
  t.ok(
    again.every(({ added }) => added === 0),
    'case 44: a second import changes nothing',
  )
  for (const recording of last) await compare(t, get, recording, 7)

  const { data: sessions } = (await get('/v1/sessions?limit=100')) as {
    data: { sessionId: string; status: string; origin: unknown; usage: { tokens: unknown } }[]
  }
  t.same(
    new Set(sessions.map(({ sessionId }) => sessionId)),
    new Set(recordings.map(({ session }) => session.id)),
  )
  t.ok(
    sessions.every(({ status }) => status === 'idle'),
    'case 46: imported turns are ended',
  )

  for (const { session } of last) {
    const { data: events } = (await get(`/v1/sessions/${session.id}/events?limit=500`)) as {
      data: { seq: number }[]
    }
    t.ok(events.every(({ seq }, index) => seq === index + 1))
  }
})

t.test('each recording, imported into an empty store, and its growing copies', async (t) => {
  for (const recording of readRecordings()) {
    await using database = await openTestDatabase({ max: 4 })
    const { pool } = database
    const problems: unknown[] = []
    const report = (problem: unknown): void => void problems.push(problem)
    await using log = openLog({ pool, report })
    await using streams = openStreams({ url: database.url, pool, log, report })
    const app = buildApp({ ...streams, pool, log, settings: readSettings({}), report })
    const get: Get = async (path) => (await app.inject({ method: 'GET', url: path })).json()
    const bring = async (source: unknown): Promise<number> => {
      const { origin, sessionId, events } = translateOpencodeV2(source)
      let added = 0
      for (const batch of splitEvents(events, { events: 1000, bytes: 8_000_000 })) {
        const response = await app.inject({
          method: 'POST',
          url: '/v1/imports',
          payload: { origin, sessionId, events: batch },
        })
        t.equal(response.statusCode, 200, response.body.slice(0, 500))
        added += response.json<{ data: { added: number } }>().data.added
      }
      return added
    }
    const half = Math.floor(recording.history.length / 2)
    await bring({ ...recording, history: recording.history.slice(0, half) })
    await bring(recording)
    await compare(t, get, recording)
    t.equal(await bring({ ...recording, history: recording.history.slice(0, half) }), 0)
    t.equal(await bring(recording), 0)
    await compare(t, get, recording)
    t.same(problems, [])
    await app.close()
  }
})

t.test(
  'question-pending grows into its interrupted self, and revert-staged is cleared',
  async (t) => {
    await using database = await openTestDatabase()
    await using server = await startServer({ DATABASE_URL: database.url })
    const get = httpGet(server.url)
    const bring = async (name: string): Promise<number> => {
      const file = `test/recordings/opencode-v2/${name}.json`
      const environment = { STEMMA_URL: server.url }
      const { stdout, stderr } = await runCommand(['import', '--json', file], environment)
      t.equal(stderr, '')
      return (JSON.parse(stdout) as { data: ImportedFile[] }).data[0]!.added
    }
    for (const [before, after] of [
      ['question-pending', 'question-pending-interrupted'],
      ['revert-staged', 'revert-cleared'],
    ] as const) {
      await bring(before)
      await compare(t, get, readRecording(before))
      t.not(await bring(after), 0)
      await compare(t, get, readRecording(after))
      t.equal(await bring(before), 0, 'and the shorter copy changes nothing')
      await compare(t, get, readRecording(after))
    }
  },
)

t.test('a session that was written to since refuses its grown copy, and says so', async (t) => {
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  const environment = { STEMMA_URL: server.url }
  const file = (name: string): string => `test/recordings/opencode-v2/${name}.json`
  await runCommand(['import', file('question-pending')], environment)
  const { id } = readRecording('question-pending').session
  const response = await fetch(`${server.url}/v1/sessions/${id}/inputs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'and now?' }),
  })
  t.equal(response.status, 201)
  const refused = await runCommand(['import', file('question-pending-interrupted')], environment)
  t.equal(refused.code, 1)
  t.match(refused.stderr, /import_diverged/)
})

t.test('case 45: what is whole in a file comes in, and the report says the rest', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'stemma-import-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await using database = await openTestDatabase()
  await using server = await startServer({ DATABASE_URL: database.url })
  const recording = readRecording('unicode')
  const file = join(folder, 'session.txt')
  const text = `Exporting…\n${JSON.stringify(recording, undefined, 2)}\n{"session":`
  writeFileSync(file, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]))
  const { code, stdout } = await runCommand(['import', '--verbose', file], {
    STEMMA_URL: server.url,
  })
  t.equal(code, 0)
  t.match(stdout, /mended: the file was UTF-16 with a byte order mark/)
  t.match(stdout, /mended: 1 line \(10 characters\) before the JSON were left/)
  await compare(t, httpGet(server.url), recording)
})
