import t from 'tap'
import { openTestDatabase } from '../../../test/harness/database.ts'
import { openSocket } from '../../../test/harness/socket-client.ts'
import { openSse } from '../../../test/harness/sse-client.ts'
import { openTestApp } from '../../../test/harness/test-app.ts'
import { readSettings } from '../../settings.ts'
import type { Scope } from '../plugins/principal.ts'
import { tokenPrincipal } from './authenticate.ts'

/** An app with tokens that a test may take back; heartbeats come fast. */
const openWithTokens = async (
  holders: Readonly<Record<string, { readonly tenant: string; readonly scopes: Scope[] }>>,
) => {
  const settings = readSettings({
    STEMMA_HOST: '0.0.0.0',
    STEMMA_TOKENS_FILE: 'tokens.json',
    STEMMA_HEARTBEAT_MS: '200',
  })
  const tokens = new Map(
    Object.entries(holders).map(([name, { tenant, scopes }]) => [
      name,
      { sha256: '', tenant, subject: name, scopes },
    ]),
  )
  const database = await openTestDatabase()
  const { pool } = database
  const find = (token: string) => tokens.get(token)
  const authenticate = tokenPrincipal({ pool, settings, tokens: { find } })
  const app = await openTestApp({ database, settings, authenticate })
  const origin = await app.app.listen({ host: '127.0.0.1', port: 0 })
  return {
    origin,
    tokens,
    as: (who: string, method: string, url: string, body?: unknown) =>
      app.call(method, url, body, by(who)),
    [Symbol.asyncDispose]: async () => {
      await app[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

const by = (token: string) => ({ authorization: `Bearer ${token}` })
const viewed = [{ type: 'session.viewed', data: {} }]

t.test('a socket does what its token may do, in its own tenant, and nothing else', async (t) => {
  await using api = await openWithTokens({
    ada: { tenant: 'ours', scopes: ['read', 'append'] },
    bob: { tenant: 'theirs', scopes: ['read', 'append'] },
    eve: { tenant: 'ours', scopes: ['read'] },
  })
  await t.rejects(openSocket(api.origin), /401/)
  await t.rejects(openSocket(api.origin, { headers: by('nobody') }), /401/)
  await api.as('ada', 'POST', '/v1/sessions', { sessionId: 's' })
  using ada = await openSocket(api.origin, { headers: by('ada') })
  using bob = await openSocket(api.origin, { headers: by('bob') })
  using eve = await openSocket(api.origin, { headers: by('eve') })
  const append = { op: 'append', ref: 'r', sessionId: 's', events: viewed }
  ada.send(append)
  t.ok((await ada.wait(({ ref }) => ref === 'r')).ok)
  bob.send(append)
  t.equal((await bob.wait(({ ref }) => ref === 'r')).error?.code, 'session_not_found')
  eve.send(append)
  t.equal((await eve.wait(({ ref }) => ref === 'r')).error?.code, 'forbidden')
  bob.send({ op: 'subscribe', sub: 's', sessionId: 's' })
  t.equal((await bob.wait(({ sub }) => sub === 's')).error?.code, 'session_not_found')
  bob.send({ op: 'subscribe', sub: 'all', all: true })
  await bob.wait(({ sub, caughtUp }) => sub === 'all' && caughtUp !== undefined)
  t.notOk(
    bob.frames.some(({ event }) => event),
    'nothing of the other tenant',
  )
})

t.test('a token that is taken back ends its sockets and streams, and no others', async (t) => {
  await using api = await openWithTokens({
    ada: { tenant: 'ours', scopes: ['read', 'append'] },
    eve: { tenant: 'ours', scopes: ['read'] },
  })
  await api.as('ada', 'POST', '/v1/sessions', { sessionId: 's' })
  using ada = await openSocket(api.origin, { headers: by('ada') })
  using eve = await openSocket(api.origin, { headers: by('eve') })
  using stream = await openSse(`${api.origin}/v1/sessions/s/events`, by('eve'))
  await stream.wait(({ event }) => event === 'caught-up')
  for (const client of [ada, eve]) {
    client.send({ op: 'subscribe', sub: 'x', sessionId: 's' })
    await client.wait(({ caughtUp }) => caughtUp !== undefined)
  }
  api.tokens.delete('eve')
  t.match(await eve.wait(({ ended }) => ended !== undefined), {
    sub: 'x',
    ended: { reason: 'forbidden', afterSeq: 1 },
  })
  t.equal((await eve.closed).code, 1008)
  t.match(await stream.wait(({ event }) => event === 'ended'), {
    data: { reason: 'forbidden', afterSeq: 1 },
  })
  await stream.closed
  ada.send({ op: 'ping' })
  await ada.wait(({ pong }) => pong === true)
})

t.test('a token that loses a scope ends the sockets that were opened with it', async (t) => {
  await using api = await openWithTokens({
    ada: { tenant: 'ours', scopes: ['read', 'append'] },
  })
  using ada = await openSocket(api.origin, { headers: by('ada') })
  api.tokens.set('ada', { sha256: '', tenant: 'ours', subject: 'ada', scopes: ['read'] })
  t.equal((await ada.closed).code, 1008)
})
