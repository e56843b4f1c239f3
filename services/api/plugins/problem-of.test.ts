import t from 'tap'
import { errorTable, Refusal, type ErrorCode } from '../../../schema/errors.ts'
import { ConnectionLost, DatabaseError } from '../../database/connection.ts'
import { problemOf, retryAfter } from './problem-of.ts'

const pick = (code: ErrorCode) => ({
  status: errorTable[code].status,
  title: errorTable[code].title,
})

t.test('every code becomes a problem with the status and the title of the table', (t) => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { problem } = problemOf(new Refusal(code, 'detail'), true)
    t.match(problem, { code, ...pick(code), type: `urn:stemma:error:${code}` })
  }
  t.end()
})

t.test('members of a refusal never stand in the place of what every problem has', (t) => {
  const members = { status: 200, code: 'fine', detail: 'x', headSeq: 7 }
  const { problem } = problemOf(new Refusal('expected_seq', 'moved', { members }), true)
  t.match(problem, { status: 409, code: 'expected_seq', detail: 'moved', headSeq: 7 })
  t.end()
})

t.test('what is our fault says nothing of itself', (t) => {
  for (const error of [
    new Error('secret'),
    new DatabaseError('42P01', 'secret'),
    new Refusal('internal', 'secret'),
    undefined,
    'secret',
  ]) {
    const { problem, internal } = problemOf(error, false)
    t.ok(internal)
    t.equal(problem.status, 500)
    t.notMatch(JSON.stringify(problem), /secret|at file/)
  }
  t.end()
})

t.test('a connection that is lost leaves a write unknown, and a read to be asked again', (t) => {
  const lost = new ConnectionLost('gone')
  t.equal(problemOf(lost, true).problem.code, 'outcome_unknown')
  t.equal(problemOf(lost, false).problem.code, 'overloaded')
  for (const code of ['57P03', '53300', '57014', '40001', '55P03', '3D000', '28P01']) {
    t.equal(problemOf(new DatabaseError(code, 'x'), false).problem.code, 'overloaded', code)
  }
  t.end()
})

t.test('429 and 503 say when to come back, and nothing else does', (t) => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { problem } = problemOf(new Refusal(code, 'x'), true)
    const says = retryAfter(problem) !== undefined
    t.equal(says, problem.status === 429 || problem.status === 503, code)
  }
  t.end()
})
