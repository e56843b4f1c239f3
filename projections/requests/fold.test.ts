import t from 'tap'
import { event } from '../../test/harness/rehearsal.ts'
import { foldRequest } from './fold.ts'
import type { RequestRow } from './request-row.ts'

const at = (seq: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString()

const foldAll = (...events: readonly ReturnType<typeof event>[]): RequestRow | undefined =>
  events.reduce<RequestRow | undefined>(
    (request, e, n) =>
      foldRequest(request, {
        ...e,
        seq: n + 1,
        position: 10 * (n + 1),
        occurredAt: at(n),
        recordedAt: at(n),
      }),
    undefined,
  )

const opened = (expiresAt?: string) =>
  event('request.opened', {
    requestId: 'r',
    kind: 'question',
    questions: [{ question: '?', options: [] }],
    ...(expiresAt !== undefined && { expiresAt }),
  })
const answered = event('request.answered', {
  requestId: 'r',
  messageId: 'm',
  answers: [null],
  by: { subject: 's' },
})
const closed = event('request.closed', { requestId: 'r', reason: 'expired' })

t.test('a request is open until it is answered or closed, and keeps its place', async (t) => {
  t.match(foldAll(opened()), { status: 'open', position: 10, settledSeq: null, expiresAt: null })
  t.match(foldAll(opened(), answered), { status: 'answered', settledSeq: 2, position: 10 })
  t.match(foldAll(opened(), closed), { status: 'closed', reason: 'expired', settledAt: at(1) })
  // An importer closed it at its source's end.
  t.match(foldAll(opened(), closed, answered), { status: 'answered', reason: null, settledSeq: 3 })
  t.equal(foldAll(answered), undefined)
})

t.test('an expiry is an instant in UTC, and none where a database could not hold it', async (t) => {
  const of = (text: string) => foldAll(opened(text))?.expiresAt
  t.equal(of('2026-01-01T02:00:00+02:00'), '2026-01-01T00:00:00.000Z')
  for (const text of ['soon', '', '+275760-01-01T00:00:00Z', '-000001-01-01T00:00:00Z']) {
    t.equal(of(text), null, text)
  }
})
