import t from 'tap'
import { trackSettled, type MessageReply } from './settled.ts'

const message = (seq: number, given: Partial<MessageReply> = {}): MessageReply => ({
  messageId: `m_${seq}`,
  sessionId: 's',
  seq,
  type: 'user',
  createdAt: '2026-12-01T00:00:00Z',
  ...given,
})
const agent = (seq: number, given: Partial<MessageReply> = {}): MessageReply =>
  message(seq, { type: 'assistant', ...given })
const done = { completedAt: '2026-12-01T00:00:01Z' }
const ids = (messages: readonly MessageReply[]): string[] =>
  messages.map(({ messageId }) => messageId)

t.test(
  'an open message of an agent holds what comes after it, a shell holds nothing',
  async (t) => {
    const settled = trackSettled(() => false)
    const shell = message(2, { type: 'shell' })
    t.same(ids(settled.take([message(1), shell, agent(3), message(4)])), ['m_1'])
    t.equal(settled.floor(), 1)
    t.same(ids(settled.take([message(1), shell, agent(3, done), message(4)])), ['m_3', 'm_4'])
    t.equal(settled.floor(), 1, 'the shell is looked at until it ends')
    t.same(ids(settled.take([{ ...shell, ...done }, agent(3, done), message(4)])), ['m_2'])
    t.equal(settled.floor(), 4)
  },
)

t.test('a step that failed and is tried again is printed for each attempt', async (t) => {
  const settled = trackSettled(() => false)
  t.same(ids(settled.take([agent(1, done)])), ['m_1'])
  t.same(ids(settled.take([agent(1, { attempt: 2 })])), [])
  t.same(ids(settled.take([agent(1, { attempt: 2, ...done })])), ['m_1'])
  t.same(ids(settled.take([agent(1, { attempt: 2, ...done })])), [])
})

t.test('what nobody will complete is printed as it is, and holds nothing', async (t) => {
  const settled = trackSettled(({ seq }) => seq < 2)
  t.same(ids(settled.take([agent(1), message(2)])), ['m_1', 'm_2'])
})
