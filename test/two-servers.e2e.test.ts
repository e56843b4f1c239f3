import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newId } from '../services/log/new-id.ts'
import { openTestDatabase } from './harness/database.ts'
import { startServer, type ServerProcess } from './harness/server-process.ts'

type Acknowledged = Map<string, number>

const post = async (server: ServerProcess, path: string, body: unknown) => {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as never }
}

/** Appends one event, with the same id, through one server or the other until it is acknowledged. */
const appendSurely = async (
  servers: readonly ServerProcess[],
  first: number,
  sessionId: string,
  acknowledged: Acknowledged,
  refusals: unknown[],
): Promise<void> => {
  const eventId = newId('evt')
  const events = [{ eventId, type: 'session.renamed', data: { title: eventId } }]
  for (let attempt = 0; ; attempt += 1) {
    const server = servers[(first + attempt) % servers.length]!
    try {
      const { status, body } = await post(server, `/v1/sessions/${sessionId}/events`, { events })
      if (status === 503) {
        await sleep(20)
        continue
      }
      if (status !== 200) refusals.push(body)
      const { data } = body as { data: { lastSeq: number } }
      acknowledged.set(eventId, data.lastSeq)
      return
    } catch {
      // The server was killed: nobody knows whether it was stored. The same id asks the other one.
      await sleep(20)
    }
  }
}

t.test(
  'case 1: 64 writers through two servers, one killed with -9 in the middle: gapless, each acknowledged event once, no refusal',
  async (t) => {
    await using database = await openTestDatabase()
    await using a = await startServer({ DATABASE_URL: database.url })
    await using b = await startServer({ DATABASE_URL: database.url })
    const { status } = await post(a, '/v1/sessions', { sessionId: 'ses_hot' })
    t.equal(status, 201)
    for (let n = 0; n < 8; n += 1) await post(b, '/v1/sessions', { sessionId: `ses_${n}` })

    const acknowledged: Acknowledged = new Map()
    const refusals: unknown[] = []
    const each = 25
    let done = 0
    const writers = Array.from({ length: 64 }, async (_, writer) => {
      const sessionId = writer % 2 === 0 ? 'ses_hot' : `ses_${writer % 8}`
      for (let n = 0; n < each; n += 1) {
        await appendSurely([a, b], writer, sessionId, acknowledged, refusals)
        done += 1
        if (done === 32 * each) a.child.kill('SIGKILL')
      }
    })
    await Promise.all(writers)

    t.same(refusals, [], 'no refusal is seen by a writer')
    t.equal(acknowledged.size, 64 * each)
    t.equal(a.child.signalCode, 'SIGKILL')
    const rows = await database.pool.use((connection) =>
      connection.query<{ sid: number; seq: number; event_id: string; head: number }>(
        `select e.sid, e.seq, e.event_id, s.head from stemma.event e join stemma.session s using (sid)
         order by e.sid, e.seq`,
      ),
    )
    const times = new Map<string, number>()
    const last = new Map<number, number>()
    let gaps = 0
    for (const row of rows) {
      times.set(row.event_id, (times.get(row.event_id) ?? 0) + 1)
      if (row.seq !== (last.get(row.sid) ?? 0) + 1) gaps += 1
      last.set(row.sid, row.seq)
    }
    t.equal(gaps, 0, 'seqs are 1..n without gap or double')
    t.ok(
      rows.every((row) => last.get(row.sid) === row.head),
      'and the head is the last of them',
    )
    t.ok(
      [...acknowledged.keys()].every((id) => times.get(id) === 1),
      'each acknowledged event is there once',
    )
    t.equal(rows.length, 9 + acknowledged.size, 'and nothing else is')
  },
)

t.test('case 8: two servers that set up an empty database at once both start', async (t) => {
  await using database = await openTestDatabase({ empty: true })
  const servers = await Promise.all(
    [1, 2, 3].map(() => startServer({ DATABASE_URL: database.url })),
  )
  for (const server of servers) {
    const response = await fetch(`${server.url}/readyz`)
    t.equal(response.status, 200)
    t.equal(await server.end('SIGTERM'), 0, 'and stops cleanly')
  }
})
