import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestApp } from '../../test/harness/test-app.ts'
import { foldedTranscript, pagedTranscript, playSessions } from '../../test/harness/transcripts.ts'
import type { Scope } from './plugins/principal.ts'

t.test('an admin starts a rebuild and follows it, and nobody else does', async (t) => {
  const scopes = new Set<Scope>(['read', 'append'])
  await using api = await openTestApp({
    authenticate: async () => ({ tenant: 1, subject: 'somebody', scopes }),
  })
  const { pool } = api.database
  const targets = await playSessions(pool, { count: 3, turns: 3 })
  const all = '/v1/projections/transcript/rebuilds'
  t.match(await api.call('GET', '/v1/projections'), {
    status: 200,
    body: {
      data: [
        { name: 'sessions', liveGeneration: 2, stalled: 0 },
        { name: 'transcript', liveGeneration: 1, fold: 1, generations: [{ state: 'whole' }] },
      ],
    },
  })
  t.match(await api.call('POST', all, {}), { status: 403 })
  t.match(await api.call('GET', `${all}/2`), { status: 403 })

  scopes.add('admin')
  const started = await api.call('POST', all, { verify: true })
  t.match(started, {
    status: 202,
    headers: { location: `${all}/2` },
    body: { data: { rebuildId: '2', generation: 2, replaces: 1, verify: true } },
  })
  let { body } = await api.call('GET', `${all}/2`)
  for (; (body as { data: { phase: string } }).data.phase !== 'done'; await sleep(20)) {
    ;({ body } = await api.call('GET', `${all}/2`))
  }
  t.match(body, { data: { outcome: 'live', sessions: 3, filledSessions: 3, verifiedSessions: 3 } })
  t.match((await api.call('GET', '/v1/projections')).body, {
    data: [{}, { liveGeneration: 2, generations: [{ state: 'removed' }, { state: 'whole' }] }],
  })
  for (const target of targets) {
    const { messages, asOfSeq } = await pagedTranscript(pool, target)
    t.same(messages, await foldedTranscript(pool, target, asOfSeq))
  }
  for (const [method, url, status, code] of [
    ['POST', '/v1/projections/no/rebuilds', 404, 'projection_not_found'],
    ['POST', '/v1/projections/sessions/rebuilds', 409, 'rebuild_refused'],
    ['GET', `${all}/9`, 404, 'rebuild_not_found'],
    ['GET', `${all}/x`, 404, 'rebuild_not_found'],
    ['GET', '/v1/projections/no/rebuilds/1', 404, 'projection_not_found'],
  ] as const) {
    t.match(await api.call(method, url), { status, body: { code } }, `${method} ${url}`)
  }
  t.match(await api.call('POST', all, { verify: 1 }), {
    status: 400,
    body: { code: 'invalid_body', errors: [{ pointer: '/verify' }] },
  })
  t.same(api.reported, [])
})
