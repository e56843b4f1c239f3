import t from 'tap'
import { emptyView } from '../../projections/transcript/view.ts'
import { fold } from '../../projections/transcript/fold.ts'
import { contextOf } from '../../test/harness/context-of.ts'
import { openTestApp } from '../../test/harness/test-app.ts'
import { randomSession } from '../../test/harness/random-session.ts'
import { seeded } from '../../test/harness/seeded.ts'
import { projectTranscript } from '../projector/project-transcript.ts'
import { readSession } from '../log/load-session.ts'
import { readEvents, storedEvent } from '../log/read-events.ts'

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test('the context that is read is the one that a fold of the whole log gives', async (t) => {
  await using test = await openTestApp()
  const { pool } = test.database
  let summaries = 0
  for (const seed of [3, 5, 8, 13]) {
    const sessionId = `ses_${seed}`
    const target = { tenant: 1, sessionId }
    const { acts } = randomSession(seeded(seed), 6)
    for (const [n, act] of acts.entries()) {
      await test.log.execute({ ...target, ...act })
      if (n % 25 !== 0 && n !== acts.length - 1) continue
      const session = await pool.use((connection) => readSession(connection, target))
      const { sid, headSeq } = session!
      const range = { afterSeq: 0, throughSeq: headSeq, limit: 10_000 }
      const view = emptyView()
      for (const row of await pool.use((c) => readEvents(c, sid, range))) {
        fold(view, storedEvent(row))
      }
      for (const waiting of [undefined, 'placeholder'] as const) {
        const query = waiting ? `?waiting=${waiting}` : ''
        const { body } = await test.call('GET', `/v1/sessions/${sessionId}/context${query}`)
        const data = json(contextOf(view, headSeq, { waiting }))
        t.same(body, { data, asOfSeq: headSeq }, `${sessionId} at ${headSeq}`)
        summaries += JSON.stringify(body).includes('"summary"') ? 1 : 0
      }
      // Some of it from rows, the rest from the log.
      if (n % 50 === 0) await projectTranscript(pool, sid)
    }
  }
  t.ok(summaries > 0, `${summaries} with a summary`)
  const refused = await test.call('GET', '/v1/sessions/ses_3/context?waiting=yes')
  t.equal(refused.status, 400)
})
