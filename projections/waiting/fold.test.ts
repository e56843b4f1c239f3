import t from 'tap'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { event } from '../../test/harness/rehearsal.ts'
import { waitingChanges } from './fold.ts'

const changes = (of: ReturnType<typeof event>, isTurnActive = false) =>
  waitingChanges({ ...of, seq: 7 } as StoredEvent, isTurnActive)

const answered = event('request.answered', {
  requestId: 'r',
  messageId: 'm',
  answers: [null],
  by: { subject: 's' },
})

t.test('an input waits from its admission until it is delivered or cancelled', async (t) => {
  const admitted = event('input.admitted', { messageId: 'm', kind: 'shell', delivery: 'queue' })
  t.same(changes(admitted), [{ waits: { kind: 'input', id: 'm', seq: 7 } }])
  for (const end of [
    event('input.delivered', { messageId: 'm', turnId: 't' }),
    event('input.cancelled', { messageId: 'm' }),
  ]) {
    t.same(changes(end), [{ gone: { kind: 'input', id: 'm' } }])
  }
})

t.test('an answer waits if no turn is active, until a turn resumes it', async (t) => {
  t.same(changes(answered), [{ waits: { kind: 'answer', id: 'r', seq: 7 } }])
  t.same(changes(answered, true), [])
  const started = { turnId: 't', ownerId: 'o', fence: 1, inputs: [] }
  t.same(changes(event('turn.started', { ...started, resumes: ['r'] })), [
    { gone: { kind: 'answer', id: 'r' } },
  ])
  t.same(changes(event('turn.started', started)), [])
})
