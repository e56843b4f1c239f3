import t from 'tap'
import { importInto, messagesOf } from '../../test/harness/import-rehearsal.ts'
import { readRecording, readRecordings } from '../../test/harness/opencode-messages.ts'
import { rehearse } from '../../test/harness/rehearsal.ts'
import { translateOpencodeV2 } from '../adapters/opencode-v2/translate.ts'
import { plain } from './paint.ts'
import { renderMessages, type TranscriptView } from './render-transcript.ts'

const view: TranscriptView = { full: false, columns: 60, paint: plain, now: 0 }
type Messages = Parameters<typeof renderMessages>[0]

const shown = (messages: readonly object[], more: Partial<TranscriptView> = {}): string =>
  renderMessages(messages as Messages, { ...view, ...more }, { seq: 0 }).text

const recorded = (name: string): string => {
  const rehearsal = rehearse()
  importInto(rehearsal, translateOpencodeV2(readRecording(name)))
  return shown(messagesOf(rehearsal)).replaceAll(/trn_\w+ ─+/g, 'turn')
}

const user = {
  type: 'user',
  origin: 'input',
  createdAt: '2026-11-30T20:00:00.000Z',
  messageId: 'm',
}
const assistant = {
  type: 'assistant',
  createdAt: '2026-11-30T20:00:00.000Z',
  completedAt: '2026-11-30T20:00:01.000Z',
  messageId: 'a',
  agent: 'build',
  model: { modelId: 'm', providerId: 'p' },
  finish: 'stop',
  parts: [],
}

t.test('a transcript reads from top to bottom: who, what, and how it came out', async (t) => {
  t.equal(
    recorded('question-answered'),
    `
── 2026-11-30 20:37 ── turn

user
  ask [[question {"questions":[{"question":"Which database?","header":"Pick","options":[{"label":"Postgres","description":"Postgres"},{"label":"SQLite","description":"SQLite"}]}]}]]||[[bash {"command":"echo chosen","description":"run"}]]

build (fake/fake)
  Step 1. 
  question Which database? (Postgres, SQLite) → ok
    User has answered your questions: "Which database?"="Postgres". You can now continue with the user's answers in mind.

user, answer by opencode
  Postgres

build (fake/fake)
  Step 2. 
  bash echo chosen → ok
    chosen
    Command exited with code 0.

build (fake/fake)
  All done after 2 tool results.
`,
  )
})

t.test('failures, interruptions and selections are said', async (t) => {
  t.match(recorded('stream-dropped'), 'failed: unspecified, HTTP transport failed')
  t.match(
    recorded('stream-without-finish'),
    'failed: incomplete, the stream ended without a finish',
  )
  t.match(recorded('tool-bad-json'), 'bash {"command": → cancelled')
  t.match(recorded('interrupt-tool'), '→ error\n    Tool execution interrupted')
  t.match(recorded('finish-length'), 'finish: length')
  t.match(recorded('agent-model-switch'), 'agent: plan\n\nmodel: fake/fake:high')
})

t.test('turns are separated, messages of one turn are not', async (t) => {
  const text = shown([
    { ...user, turnId: 'trn_1', text: 'one' },
    { ...assistant, turnId: 'trn_1' },
    { ...user, text: 'answer', origin: 'answer', answers: [['yes'], null, []] },
    { ...assistant, turnId: 'trn_1' },
    { ...user, turnId: 'trn_2', text: 'two' },
  ])
  t.equal(text.match(/trn_/g)?.length, 2)
  t.match(text, '  yes\n  skipped\n  nothing chosen')
})

t.test('long outputs are shortened, unless all is asked for', async (t) => {
  const output = Array.from({ length: 30 }, (_, n) => `line ${n}`).join('\n')
  const part = {
    type: 'tool',
    partId: 'c',
    name: 'bash',
    input: { command: 'x'.repeat(500) },
    status: 'settled',
    outcome: 'ok',
    content: [{ type: 'text', text: output }],
  }
  const short = shown([{ ...assistant, parts: [part] }])
  t.match(short, '… 22 more lines')
  t.notMatch(short, 'line 8')
  t.ok(short.split('\n').every((line) => line.length <= 62))
  const full = shown([{ ...assistant, parts: [part] }], { full: true })
  t.match(full, 'line 29')
  t.match(full, 'x'.repeat(500))
})

t.test('what is open is said: a running step, a waiting call', async (t) => {
  const { completedAt: _, finish: __, ...running } = assistant
  const part = { type: 'tool', partId: 'c', name: 'question', input: {}, status: 'waiting' }
  t.match(shown([{ ...running, parts: [part] }]), 'question {} → waiting\n  running')
})

t.test('no content can drive the terminal, wherever it stands', async (t) => {
  const evil = '\u001b[31m\u0007\u202e\r'
  const text = shown([
    { ...user, text: evil, files: [{ type: 'file', mediaType: 'a', name: evil }] },
    { ...user, origin: 'answer', answers: [[evil]], by: { subject: evil } },
    {
      ...assistant,
      agent: evil,
      model: { modelId: evil, providerId: evil, variant: evil },
      finish: evil,
      parts: [
        { type: 'text', partId: 't', text: evil },
        { type: 'reasoning', partId: 'r', text: evil },
        { type: 'text', partId: 'x', text: '', excluded: evil },
        {
          type: 'tool',
          partId: 'c',
          name: evil,
          input: { command: evil },
          status: 'settled',
          outcome: 'error',
          error: { kind: 'tool', message: evil },
          content: [
            { type: 'text', text: evil },
            { type: 'file', uri: evil, mediaType: evil },
          ],
        },
        { type: 'tool', partId: 'd', name: 'x', inputText: evil, status: 'streaming' },
        { type: 'tool', partId: 'e', name: 'x', input: { [evil]: evil }, status: 'called' },
      ],
    },
    { ...assistant, error: { kind: evil, message: evil } },
    { ...user, type: 'shell', command: evil, output: evil, exit: 1 },
    { ...user, type: 'compaction', reason: evil, status: evil, summary: evil },
    { ...user, type: 'agent-selected', agent: evil },
    { ...user, type: 'model-selected', model: { modelId: evil, providerId: evil } },
    { ...user, type: 'synthetic', text: evil, turnId: evil },
    { ...user, type: evil },
  ])
  // oxlint-disable-next-line no-control-regex
  t.notMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
})

t.test('every recording can be shown', async (t) => {
  for (const { name } of readRecordings()) t.ok(recorded(name).length > 20, name)
})
