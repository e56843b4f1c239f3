import t from 'tap'
import { openTestApp } from '../../test/harness/test-app.ts'
import { projectSessions } from './project-sessions.ts'

const safe = Number.MAX_SAFE_INTEGER
const by = { subject: 's' }

/** What an importer may say of a turn at the most, and what is more than that. */
const cases = [
  { most: { fence: 2 ** 31 }, more: { fence: 2 ** 31 + 1 } },
  { most: { fence: 1 }, more: { fence: 1e20 } },
  { most: { incarnation: safe }, more: { incarnation: 1e20 } },
  { most: { expiresAt: '9999-12-31T23:59:59Z' }, more: undefined },
  { most: { expiresAt: '-271821-04-20T00:00:00Z' }, more: undefined },
  { most: { expiresAt: '+275760-09-13T00:00:00Z' }, more: undefined },
  { most: { graceMs: 86_400_000 }, more: { graceMs: safe } },
] as const

t.test('what an import may say of turns can be listed, and leaves the fence room', async (t) => {
  await using api = await openTestApp()
  await api.log.horizon.ready
  for (const [index, { most, more }] of cases.entries()) {
    for (const said of more ? [most, more] : [most]) {
      const sessionId = `ses_${index}${said === more ? '_more' : ''}`
      const origin = { system: 'x', sessionId, live: true }
      const turn = { turnId: 't', ownerId: 'o', incarnation: 0, fence: 1, inputs: [] }
      const { graceMs, expiresAt, ...held } = { graceMs: 0, expiresAt: 'soon', ...said }
      const { status, text } = await api.call('POST', '/v1/imports', {
        origin,
        events: [
          { type: 'session.created', data: { origin } },
          { type: 'turn.started', data: { ...turn, ...held } },
          { type: 'turn.interrupt.requested', data: { turnId: 't', reason: 'r', by, graceMs } },
          { type: 'request.opened', data: { requestId: 'r', kind: 'question', expiresAt } },
        ],
      })
      t.equal(status, said === more ? 400 : 200, `${JSON.stringify(said)} ${text}`)
    }
  }
  const fence = 2 ** 31
  t.match(
    await api.call('POST', '/v1/sessions/ses_0/turns/t/claim', {
      ownerId: 'own_1',
      incarnation: 1,
      fromFence: fence,
    }),
    { status: 200, body: { data: { fence: fence + 1 } } },
  )
  while (await projectSessions(api.database.pool));
  t.same(api.reported, [])
})
