import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { endpointOf, openCutProxy } from './harness/cut-proxy.ts'
import { openTestDatabase } from './harness/database.ts'
import { startOwner } from './harness/owner-process.ts'
import { startServer } from './harness/server-process.ts'

t.setTimeout(120_000)

const ttlMs = 3_000

t.test(
  'an outage of the database takes nobody’s turn: afterwards each owner has its full lease, and one that is gone loses it then',
  async (t) => {
    await using database = await openTestDatabase()
    await using proxy = await openCutProxy({ to: endpointOf(database.url) })
    await using server = await startServer({ DATABASE_URL: proxy.url(database.url) })
    await using alive = await startOwner(server.url, 'own_alive', ttlMs)
    await using gone = await startOwner(server.url, 'own_gone', ttlMs)
    const call = async (method: string, path: string, body: object) => {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { code } = (await response.json()) as { code?: string }
      return { status: response.status, code }
    }
    for (const [sessionId, ownerId] of [
      ['alive', 'own_alive'],
      ['gone', 'own_gone'],
    ] as const) {
      await call('POST', '/v1/sessions', { sessionId })
      const turn = { turnId: 'trn', ownerId, incarnation: 1 }
      t.match(await call('POST', `/v1/sessions/${sessionId}/turns`, turn), { status: 201 })
    }
    const taker = { ownerId: 'own_takes', lifetime: 'process' }
    t.match(await call('POST', '/v1/owners', taker), { status: 201 })
    const claim = (sessionId: string) =>
      call('POST', `/v1/sessions/${sessionId}/turns/trn/claim`, {
        ownerId: 'own_takes',
        incarnation: 1,
        fromFence: 1,
      })

    proxy.refuse(true)
    proxy.cutAll()
    gone.signal('SIGKILL')
    await sleep(2 * ttlMs)
    t.match(await claim('alive'), { status: 503 }, 'nothing can be claimed meanwhile')
    proxy.refuse(false)

    const back = Date.now()
    const answers: string[] = []
    for (;;) {
      const { status, code } = await claim('gone')
      if (status === 200) break
      answers.push(code!)
      t.match(await claim('alive'), { status: code === 'owner_alive' ? 409 : Number })
      await sleep(50)
    }
    t.ok(
      Date.now() - back > ttlMs - 500,
      `whoever it was, its lease held when heartbeats could be taken again: ${Date.now() - back} ms`,
    )
    t.ok(answers.includes('owner_alive'))
    t.match(await claim('alive'), { status: 409, code: 'owner_alive' })
    t.ok(alive)
  },
)
