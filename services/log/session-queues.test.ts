import t from 'tap'
import { createSessionQueues } from './session-queues.ts'
import { emptyState } from './session-state.ts'

t.test('L9: a state that was read from one log is not kept after another came', async (t) => {
  const queues = createSessionQueues(10)
  const queue = queues.of({ tenant: 1, sessionId: 's' })
  const session = { sid: 1, head: 3, state: emptyState }
  queues.keep(queue, session, queues.epoch)
  t.equal(queue.session, session)
  const { epoch } = queues
  queues.busy(queue, 0)
  queues.forget()
  t.equal(queue.session, undefined, 'dropped, also of a session that is under way')
  queues.keep(queue, session, epoch)
  t.equal(queue.session, undefined, 'and what was under way does not bring it back')
  queues.keep(queue, session, queues.epoch)
  t.equal(queue.session, session)
})
