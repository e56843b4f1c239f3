import t from 'tap'
import { displayWidth } from './display-width.ts'
import { coloured, plain } from './paint.ts'
import { ageOf } from './render-age.ts'
import { renderSessions, type SessionsView } from './render-sessions.ts'

const now = Date.parse('2026-12-01T12:00:00.000Z')
const view: SessionsView = { now, columns: 80, paint: plain, more: false, searched: false }
const session = {
  sessionId: 'ses_1',
  title: 'First',
  status: 'idle',
  updatedAt: '2026-12-01T11:55:00.000Z',
} as const

t.test('a list is a table of id, status, age and title', async (t) => {
  const sessions = [
    session,
    { ...session, sessionId: 'ses_longer', status: 'requires_action', title: 'Ask' } as const,
    { sessionId: 'ses_3', status: 'running', updatedAt: '2026-12-01T11:59:59.500Z' } as const,
  ]
  t.equal(
    renderSessions(sessions, { ...view, more: true }),
    `SESSION     STATUS         UPDATED    TITLE
ses_1       idle           5 min ago  First
ses_longer  waits for you  5 min ago  Ask
ses_3       running        now        no title
there are more: --limit <n>
`,
  )
})

t.test('a list fits the terminal: titles give way, ids never do', async (t) => {
  const wide = { ...session, title: '日本語の長い題名'.repeat(8) }
  const lines = renderSessions([wide], { ...view, columns: 60 }).split('\n')
  t.ok(lines.every((line) => displayWidth(line) <= 60))
  t.match(lines[1], /…$/)
  const narrow = renderSessions([{ ...session, sessionId: 'ses_'.padEnd(128, 'x') }], {
    ...view,
    columns: 20,
  })
  t.match(narrow, 'ses_'.padEnd(128, 'x'))
})

t.test('a title cannot drive the terminal or break the table', async (t) => {
  const text = renderSessions([{ ...session, title: '\u001b[2Jtwo\nlines' }], view)
  t.match(text, '␛[2Jtwo⏎lines')
  t.equal(text.split('\n').length, 3)
})

t.test('colours change no column', async (t) => {
  const painted = renderSessions([session], { ...view, paint: coloured })
  // oxlint-disable-next-line no-control-regex
  t.equal(painted.replaceAll(/\u001b\[\d+m/g, ''), renderSessions([session], view))
  t.not(painted, renderSessions([session], view))
})

t.test('an empty list says what to do', async (t) => {
  t.match(renderSessions([], view), /stemma import/)
  t.match(renderSessions([], { ...view, searched: true }), /no session has that in its title/)
})

t.test('an age is told in one unit', async (t) => {
  const ages = {
    '2026-12-01T12:00:05.000Z': 'now',
    '2026-12-01T11:59:30.000Z': 'now',
    '2026-12-01T11:01:00.000Z': '59 min ago',
    '2026-12-01T09:00:00.000Z': '3 h ago',
    '2026-11-21T12:00:00.000Z': '10 d ago',
    '2026-01-01T00:00:00.000Z': '2026-01-01',
  }
  for (const [at, age] of Object.entries(ages)) t.equal(ageOf(at, now), age)
})
