import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openTestDatabase } from './harness/database.ts'
import { startOwner, type OwnerProcess, type Reply } from './harness/owner-process.ts'
import { event, settled, stepEnded, stepStarted, called, dispatched } from './harness/rehearsal.ts'
import { startServer } from './harness/server-process.ts'
import type { NewEvent } from '../schema/events/envelope.ts'

/** Cases about owners that stall and die, with processes that do. */

t.setTimeout(300_000)

const isLong = process.env['STEMMA_TEST_LONG'] === '1'
/** How long an owner is stopped beyond the end of its lease. */
const stoppedMs = isLong ? 65_000 : 3_000
const ttlMs = 1_000

const at = '/v1/sessions/s'

const ask = async (url: string, method: string, path: string, body?: unknown): Promise<Reply> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as never }
}

const append = (owner: OwnerProcess, fence: number, events: readonly NewEvent[]): Promise<Reply> =>
  owner.send('POST', `${at}/events`, {
    turnId: 'trn_1',
    fence,
    events: events.map(({ eventId, type, data }) => ({ eventId, type, data })),
  })

const text = (partId: string) =>
  event('text.ended', { messageId: 'msg_1', partId, text: `part ${partId}` })

const startTurn = async (owner: OwnerProcess, ownerId: string): Promise<void> => {
  await owner.send('POST', '/v1/sessions', { sessionId: 's' })
  const turn = { turnId: 'trn_1', ownerId, incarnation: owner.incarnation }
  const { status } = await owner.send('POST', `${at}/turns`, turn)
  if (status !== 201) throw new Error(`no turn: ${status}`)
}

const statusOf = async (url: string, ownerId: string): Promise<string> => {
  const { body } = await ask(url, 'GET', `/v1/owners/${ownerId}`)
  return (body as { data: { status: string } }).data.status
}

const lapses = async (url: string, ownerId: string): Promise<void> => {
  while ((await statusOf(url, ownerId)) !== 'lapsed') await sleep(50)
}

const typesOf = async (url: string): Promise<string[]> => {
  const { body } = await ask(url, 'GET', `${at}/events?limit=500`)
  return (body as { data: { type: string }[] }).data.map(({ type }) => type)
}

t.test(
  `case 4: an owner is stopped ${stoppedMs / 1_000} s past its lease, nobody takes over, and its turn goes on: nothing was failed`,
  async (t) => {
    await using database = await openTestDatabase()
    await using server = await startServer({ DATABASE_URL: database.url })
    await using a = await startOwner(server.url, 'own_stalls', ttlMs)
    await startTurn(a, 'own_stalls')
    t.equal((await append(a, 1, [stepStarted(), text('before')])).status, 200)
    const before = await typesOf(server.url)
    a.signal('SIGSTOP')
    const late = append(a, 1, [text('after')])
    await lapses(server.url, 'own_stalls')
    await sleep(stoppedMs)
    t.same(await typesOf(server.url), before, 'nothing was written for it')
    t.match((await ask(server.url, 'GET', at)).body, { data: { status: 'running' } })
    a.signal('SIGCONT')
    t.equal((await late).status, 200, 'it goes on')
    while ((await statusOf(server.url, 'own_stalls')) !== 'alive') await sleep(50)
    const end = event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 1 })
    t.equal((await append(a, 1, [stepEnded('stop'), end])).status, 200)
    t.same((await typesOf(server.url)).slice(before.length), [
      'text.ended',
      'step.ended',
      'turn.ended',
    ])
  },
)

t.test(
  'case 3: an owner stalls, another takes its turn over, and it wakes up: fenced, and nothing of it is in the log',
  async (t) => {
    await using database = await openTestDatabase()
    await using server = await startServer({ DATABASE_URL: database.url })
    await using other = await startServer({ DATABASE_URL: database.url })
    await using a = await startOwner(server.url, 'own_stalls', ttlMs)
    await using b = await startOwner(other.url, 'own_takes', 60_000)
    await startTurn(a, 'own_stalls')
    const calls = ['read', 'once'] as const
    await append(a, 1, [stepStarted(), ...calls.map((effect) => called(effect, effect))])
    await append(a, 1, [dispatched('read'), dispatched('once')])
    a.signal('SIGSTOP')
    const late = append(a, 1, [settled('once')])
    const claim = { ownerId: 'own_takes', incarnation: b.incarnation, fromFence: 1 }
    const claimIt = () => b.send('POST', `${at}/turns/trn_1/claim`, claim)
    t.match(await claimIt(), { status: 409, body: { code: 'owner_alive' } })
    await lapses(other.url, 'own_stalls')
    t.match(await claimIt(), {
      status: 200,
      body: {
        data: {
          fence: 2,
          report: {
            calls: [
              { callId: 'read', was: 'dispatched', now: 'called' },
              { callId: 'once', was: 'dispatched', now: 'unknown' },
            ],
          },
        },
      },
    })
    const head = (await typesOf(other.url)).length
    a.signal('SIGCONT')
    t.match(await late, { status: 409, body: { code: 'fenced', fence: 2 } })
    const end = event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 1 })
    t.match(await append(a, 1, [end]), { status: 409, body: { code: 'fenced' } })
    t.equal((await typesOf(other.url)).length, head)
    const goesOn = [dispatched('read'), settled('read'), stepEnded('tool-calls')]
    t.equal((await append(b, 2, goesOn)).status, 200)
  },
)

t.test(
  'case 18: the owner and its server die with questions open: they are answered through another server, and who takes over finds them under their ids',
  async (t) => {
    await using database = await openTestDatabase()
    await using dying = await startServer({ DATABASE_URL: database.url })
    await using other = await startServer({ DATABASE_URL: database.url })
    await using a = await startOwner(dying.url, 'own_dies', ttlMs)
    await startTurn(a, 'own_dies')
    const question = (requestId: string) =>
      event('request.opened', {
        requestId,
        kind: 'question',
        messageId: 'msg_1',
        callId: requestId,
        questions: [{ question: 'which?', options: [{ label: 'a' }, { label: 'b' }] }],
      })
    const asks = ['ask_1', 'ask_2'].flatMap((id) => [called(id, 'read'), question(id)])
    t.equal((await append(a, 1, [stepStarted(), ...asks])).status, 200)
    a.signal('SIGKILL')
    await dying.end('SIGKILL')
    const synced = await ask(other.url, 'POST', '/v1/sync', {
      sessions: [{ sessionId: 's', afterSeq: 0 }],
    })
    t.match(synced.body, {
      data: [
        {
          status: 'requires_action',
          openRequests: [{ requestId: 'ask_1' }, { requestId: 'ask_2' }],
        },
      ],
    })
    const answer = (requestId: string, label: string) =>
      ask(other.url, 'POST', `${at}/requests/${requestId}/answer`, { answers: [[label]] })
    t.equal((await answer('ask_1', 'b')).status, 200, 'with nobody there')
    await using b = await startOwner(other.url, 'own_takes', 60_000)
    await lapses(other.url, 'own_dies')
    const claim = { ownerId: 'own_takes', incarnation: b.incarnation, fromFence: 1 }
    t.match(await b.send('POST', `${at}/turns/trn_1/claim`, claim), {
      status: 200,
      body: {
        data: {
          fence: 2,
          report: {
            requests: ['ask_2'],
            calls: [
              { callId: 'ask_1', now: 'called', answered: true },
              { callId: 'ask_2', now: 'waiting', requestId: 'ask_2' },
            ],
          },
        },
      },
    })
    t.equal((await answer('ask_2', 'a')).status, 200)
    const end = event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 2 })
    const goesOn = [settled('ask_1'), settled('ask_2'), stepEnded('tool-calls'), end]
    t.equal((await append(b, 2, goesOn)).status, 200)
    t.match((await ask(other.url, 'GET', `${at}/turns/trn_1`)).body, {
      data: { status: 'ended', outcome: 'completed', ownerId: 'own_takes' },
    })
  },
)

t.test(
  'what is due is written by the service itself: an expiry, and the end of an interrupted turn whose owner was killed',
  async (t) => {
    await using database = await openTestDatabase()
    await using server = await startServer({ DATABASE_URL: database.url })
    await using a = await startOwner(server.url, 'own_dies', ttlMs)
    await startTurn(a, 'own_dies')
    const expiresAt = new Date(Date.now() + 500).toISOString()
    const questions = [{ question: 'which?', options: [] }]
    const asked = { requestId: 'req', kind: 'question' as const, questions, expiresAt }
    t.equal((await append(a, 1, [event('request.opened', asked)])).status, 200)
    const stop = { reason: 'enough', device: 'phone' }
    t.match(await ask(server.url, 'POST', `${at}/turns/trn_1/interrupt`, stop), {
      body: { data: { status: 'active' } },
    })
    a.signal('SIGKILL')
    const turn = await ask(server.url, 'GET', `${at}/turns/trn_1?waitMs=20000`)
    t.match(turn.body, {
      data: {
        status: 'ended',
        outcome: 'interrupted',
        interrupt: { reason: 'enough', by: { device: 'phone' } },
      },
    })
    t.same((await typesOf(server.url)).slice(2), [
      'request.opened',
      'turn.interrupt.requested',
      'request.closed',
      'turn.ended',
    ])
  },
)
