import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestDatabase } from './harness/database.ts'
import { startServer, type ServerProcess } from './harness/server-process.ts'
import { openSocket, type Frame } from './harness/socket-client.ts'
import { openSse } from './harness/sse-client.ts'
import { seeded } from './harness/seeded.ts'

type Servers = { readonly all: (ServerProcess | undefined)[] }
type Follower = { readonly name: string; readonly seqs: number[]; done: Promise<void> }

const sessions = ['ses_a', 'ses_b', 'ses_c']
const post = async (url: string, body: unknown) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${response.status}`)
  return (await response.json()) as { data: { lastSeq: number } }
}

const anyOf = (servers: Servers, random: () => number): string => {
  const alive = servers.all.filter((server) => server !== undefined)
  return alive[Math.floor(random() * alive.length)]!.url
}

t.test(
  'case 34: two servers, cuts at random, one killed and started again: the view of every subscriber equals the log, at any speed of reading',
  { timeout: 180_000 },
  async (t) => {
    await using database = await openTestDatabase()
    const environment = { DATABASE_URL: database.url }
    const servers: Servers = {
      all: await Promise.all([startServer(environment), startServer(environment)]),
    }
    const seed = Date.now() % 100_000
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    for (const sessionId of sessions) {
      await post(`${anyOf(servers, random)}/v1/sessions`, { sessionId })
    }
    const heads = new Map<string, number>()
    let writing = true
    /** Whether the heads are final. */
    let written = false
    let total = 0

    const write = async (sessionId: string): Promise<void> => {
      for (let n = 0; writing; n += 1) {
        const eventId = `evt_${sessionId}_${n}`
        const events = [
          { eventId, type: 'session.renamed', data: { title: 'x'.repeat(2_000 * random()) } },
        ]
        for (;;) {
          try {
            const { data } = await post(
              `${anyOf(servers, random)}/v1/sessions/${sessionId}/events`,
              { events },
            )
            heads.set(sessionId, data.lastSeq)
            total += 1
            await sleep(5 * random())
            break
          } catch {
            await sleep(20)
          }
        }
      }
    }

    const isDone = (sessionId: string, seq: number): boolean =>
      written && seq >= heads.get(sessionId)!

    /** Comes back at its own last seq, at whichever server, until it has all. */
    const bySocket = (sessionId: string, how: 'fast' | 'slow' | 'cut'): Follower => {
      const seqs: number[] = []
      const run = async (): Promise<void> => {
        while (!isDone(sessionId, seqs.at(-1) ?? 0)) {
          const client = await openSocket(anyOf(servers, random), {
            onFrame: ({ event }: Frame) => event && seqs.push(event.seq),
          }).catch(() => undefined)
          if (!client) {
            await sleep(50)
            continue
          }
          client.send({ op: 'subscribe', sub: 's', sessionId, afterSeq: seqs.at(-1) ?? 0 })
          const until = Date.now() + (how === 'cut' ? 300 * random() : 60_000)
          while (
            client.socket.readyState === client.socket.OPEN &&
            Date.now() < until &&
            !isDone(sessionId, seqs.at(-1) ?? 0)
          ) {
            await sleep(10)
            if (how !== 'slow') continue
            client.socket.pause()
            await sleep(200 * random())
            client.socket.resume()
          }
          client[Symbol.dispose]()
        }
      }
      return { name: `${sessionId}, socket, ${how}`, seqs, done: run() }
    }

    const bySse = (sessionId: string): Follower => {
      const seqs: number[] = []
      const run = async (): Promise<void> => {
        while (!isDone(sessionId, seqs.at(-1) ?? 0)) {
          const url = `${anyOf(servers, random)}/v1/sessions/${sessionId}/events`
          const headers = { 'last-event-id': String(seqs.at(-1) ?? 0) }
          const stream = await openSse(url, headers).catch(() => undefined)
          if (!stream) {
            await sleep(50)
            continue
          }
          let over = false
          void stream.closed.then(() => (over = true))
          const until = Date.now() + 2_000 * random()
          while (!over && Date.now() < until && !isDone(sessionId, last(stream.events))) {
            await sleep(10)
          }
          stream[Symbol.dispose]()
          await stream.closed
          seqs.push(...seqsOf(stream.events))
        }
      }
      return { name: `${sessionId}, SSE, cut`, seqs, done: run() }
    }

    const seen: string[] = []
    const byAll = async (): Promise<void> => {
      let after: string | undefined
      for (;;) {
        const client = await openSocket(anyOf(servers, random), {
          onFrame: ({ event, cursor }: Frame) => {
            if (event) seen.push(`${event.sessionId} ${event.seq}`)
            if (cursor !== undefined) after = cursor
          },
        }).catch(() => undefined)
        if (!client) {
          await sleep(50)
          continue
        }
        client.send({
          op: 'subscribe',
          sub: 'all',
          all: true,
          ...(after !== undefined && { after }),
        })
        const until = Date.now() + 1_000 * random()
        const all = (): number => [...heads.values()].reduce((sum, head) => sum + head, 0)
        while (
          client.socket.readyState === client.socket.OPEN &&
          Date.now() < until &&
          (!written || seen.length < all())
        ) {
          await sleep(10)
        }
        client[Symbol.dispose]()
        if (written && seen.length >= all()) return
      }
    }

    const followers = sessions.flatMap((sessionId) => [
      bySocket(sessionId, 'fast'),
      bySocket(sessionId, 'slow'),
      bySocket(sessionId, 'cut'),
      bySse(sessionId),
    ])
    const all = byAll()
    const writers = sessions.map(write)
    for (let round = 0; round < 2; round += 1) {
      await sleep(2_500)
      const victim = servers.all[round]!
      servers.all[round] = undefined
      await victim.end(round === 0 ? 'SIGKILL' : 'SIGTERM')
      await sleep(500)
      servers.all[round] = await startServer(environment)
    }
    await sleep(1_500)
    writing = false
    await Promise.all(writers)
    written = true
    await Promise.all([...followers.map(({ done }) => done), all])

    t.ok(total > 100, `${total} events were appended`)
    for (const { name, seqs } of followers) {
      const head = heads.get(sessions.find((id) => name.startsWith(id))!)!
      t.same(
        seqs,
        Array.from({ length: head }, (_, n) => n + 1),
        name,
      )
    }
    const stored = await database.pool.use((connection) =>
      connection.query<{ key: string }>(
        `select s.session_id || ' ' || e.seq as key
           from stemma.event e join stemma.session s using (sid) order by e.position`,
      ),
    )
    t.same(
      seen,
      stored.map(({ key }) => key),
      'all sessions, in the order of the log',
    )
    for (const server of servers.all) await server?.end('SIGTERM')
  },
)

const seqsOf = (events: readonly { event: string; id: string | undefined }[]): number[] =>
  events.flatMap(({ event, id }) => (event === 'event' ? [Number(id)] : []))
const last = (events: readonly { event: string; id: string | undefined }[]): number =>
  seqsOf(events).at(-1) ?? 0
