import t from 'tap'
import { renderAnswer, renderAsked, renderClosed } from './render-request.ts'

type Message = Parameters<typeof renderAnswer>[0]
const answer = (given: object): Message => ({ messageId: 'a', type: 'user', ...given }) as never

const questions = [
  { question: 'Which database?', options: [{ label: 'Postgres' }] },
  { question: 'Which port?', options: [] },
  { question: 'And why?', options: [] },
]

t.test('a request is told on one line, by what it asks', async (t) => {
  t.equal(
    renderAsked({ kind: 'question', questions }),
    'Which database? (Postgres) / Which port? / And why?',
  )
  const permission = { action: 'run', resources: ['rm', 'ls'] }
  t.equal(renderAsked({ kind: 'permission', permission }), 'run (rm, ls)')
  t.equal(renderAsked({ kind: 'elicitation' }), 'elicitation')
})

t.test('case 20: no two ways of not answering are told alike', async (t) => {
  const reasons = [
    'rejected',
    'dismissed',
    'replied',
    'cancelled',
    'expired',
    'superseded',
  ] as const
  const told = reasons.map((reason) => renderClosed({ requestId: 'r', reason }))
  t.equal(new Set(told).size, reasons.length)
  t.match(renderClosed({ requestId: 'r', reason: 'replied', messageId: 'msg_2' }), /\(msg_2\)$/)
})

t.test('an answer is told question by question; skipped is not nothing', async (t) => {
  const answers = answer({ answers: [['Postgres'], null, []] })
  t.same(renderAnswer(answers, { kind: 'question', questions }), [
    'Which database? Postgres',
    'Which port? skipped',
    'And why? nothing chosen',
  ])
  t.same(renderAnswer(answers, undefined), ['Postgres', 'skipped', 'nothing chosen'])
})

t.test('a decision is told with what it is about and with its words', async (t) => {
  const permission = { action: 'run', resources: ['rm'] }
  const rejected = answer({ decision: 'reject_always', message: 'never do that' })
  t.same(renderAnswer(rejected, { kind: 'permission', permission }), [
    'run (rm): not allowed, nor later',
    'never do that',
  ])
  const filled = answer({ action: 'accept', content: { port: 5432 } })
  t.same(renderAnswer(filled, { kind: 'elicitation' }), ['accepted', '{"port":5432}'])
})
