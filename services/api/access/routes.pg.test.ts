import t from 'tap'
import { openTestDatabase } from '../../../test/harness/database.ts'
import { openTestApp, type Answer, type TestApp } from '../../../test/harness/test-app.ts'
import { readSettings } from '../../settings.ts'
import { allScopes, type Scope } from '../plugins/principal.ts'
import { tokenPrincipal } from './authenticate.ts'
import { hashOf } from './hash-of.ts'
import { parseTokens } from './parse-tokens.ts'

type Holder = { readonly tenant: string; readonly scopes: readonly Scope[] }

/** An app that takes tokens: each holder's is its name. */
const openTokenApp = async (holders: Readonly<Record<string, Holder>>): Promise<TestApp> => {
  const settings = readSettings({
    STEMMA_HOST: '0.0.0.0',
    STEMMA_TOKENS_FILE: 'tokens.json',
    STEMMA_ORIGINS: 'https://pages.example',
  })
  const entries = Object.entries(holders).map(([name, { tenant, scopes }]) => ({
    sha256: hashOf(name),
    tenant,
    subject: name,
    scopes,
  }))
  const byHash = new Map(parseTokens(JSON.stringify(entries)).map((e) => [e.sha256, e]))
  const database = await openTestDatabase()
  const authenticate = tokenPrincipal({
    pool: database.pool,
    settings,
    tokens: { find: (token) => byHash.get(hashOf(token)) },
  })
  const api = await openTestApp({ database, settings, authenticate })
  return {
    ...api,
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

const withToken = (token: string) => ({ authorization: `Bearer ${token}` })

type Route = { readonly method: string; readonly path: string; readonly scope: Scope | undefined }

/** Every route that the app has, by its own description, HEAD included. */
const routesOf = async ({ app }: TestApp): Promise<Route[]> => {
  type Operation = { security?: [{ token: [Scope] }] }
  const { paths } = (await app.inject('/openapi.json')).json<{
    paths: Record<string, Record<string, Operation>>
  }>()
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { security }]) => {
      const route = { method: method.toUpperCase(), path, scope: security?.[0].token[0] }
      return method === 'get' ? [route, { ...route, method: 'HEAD' }] : [route]
    }),
  )
}

const send = (
  { call }: TestApp,
  { method, path }: Route,
  headers: Readonly<Record<string, string>>,
  body: unknown = {},
): Promise<Answer> => {
  const url = path.replaceAll(/\{\w+\}/g, 'ses_1')
  return call(method, url, method === 'GET' || method === 'HEAD' ? undefined : body, headers)
}

t.test(
  'every route takes its scope and no other; without a good token it is 401, whatever else is wrong',
  async (t) => {
    const holders = Object.fromEntries(
      allScopes.map((scope) => [scope, { tenant: 'team', scopes: [scope] }]),
    )
    await using api = await openTokenApp(holders)
    const routes = await routesOf(api)
    const open = routes.filter(({ scope, method }) => scope === undefined && method !== 'HEAD')
    t.same(
      open.map(({ path }) => path).toSorted(),
      ['/livez', '/metrics', '/openapi.json', '/readyz'],
      'these alone are open to anybody',
    )
    t.ok(routes.length > 20)
    for (const route of routes) {
      const name = `${route.method} ${route.path}`
      if (route.scope === undefined) {
        t.equal((await send(api, route, {})).status, 200, name)
        continue
      }
      for (const authorization of [undefined, '', 'Bearer', 'Bearer wrong', 'Basic cmVhZA==']) {
        const reply = await send(api, route, authorization === undefined ? {} : { authorization })
        t.equal(reply.status, 401, `${name} with ${authorization}`)
        t.equal(reply.headers['www-authenticate'], 'Bearer')
        if (route.method !== 'HEAD') t.match(reply.body, { code: 'unauthorized' })
      }
      for (const scope of allScopes) {
        const reply = await send(api, route, withToken(scope))
        if (scope === route.scope) {
          t.notOk([401, 403].includes(reply.status), `${name} is open to ${scope}`)
        } else {
          t.equal(reply.status, 403, `${name} is closed to ${scope}`)
          if (route.method === 'HEAD') continue
          t.match(reply.body, { code: 'forbidden', scope: route.scope })
          t.match((reply.body as { detail: string }).detail, `the scope ${route.scope}`)
        }
      }
    }
    t.same(api.reported, [])
  },
)

t.test('a token is never taken from a URL, and no reply says it again', async (t) => {
  await using api = await openTokenApp({ kim: { tenant: 'team', scopes: ['read'] } })
  for (const name of ['token', 'access_token', 'ticket']) {
    const bare = await api.call('GET', `/v1/sessions?${name}=kim`)
    t.match([bare.status, bare.body], [401, { code: 'unauthorized' }])
    const given = await api.call('GET', `/v1/sessions?${name}=kim`, undefined, withToken('kim'))
    t.match([given.status, given.body], [400, { code: 'invalid_query' }])
    for (const { text, headers } of [bare, given]) {
      t.notMatch(text + JSON.stringify(headers), /kim/)
    }
  }
  for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
    const headers = { authorization: `${scheme} kim` }
    t.equal((await api.call('GET', '/v1/sessions', undefined, headers)).status, 200, scheme)
  }
})

t.test(
  'two tenants have sessions of the same id, and neither finds anything of the other',
  async (t) => {
    const scopes = [...allScopes]
    await using api = await openTokenApp({
      ada: { tenant: 'ours', scopes },
      bob: { tenant: 'theirs', scopes },
    })
    const as = (who: string, method: string, url: string, body?: unknown): Promise<Answer> =>
      api.call(method, url, body, withToken(who))
    await as('ada', 'POST', '/v1/sessions', { sessionId: 'ses_1', title: 'secret' })
    await as('ada', 'POST', '/v1/sessions/ses_1/inputs', { messageId: 'ses_1', text: 'secret' })
    await as('ada', 'POST', '/v1/owners', { ownerId: 'ses_1', lifetime: 'process' })
    const owner = { ownerId: 'ses_1', incarnation: 1 }
    const turn = { turnId: 'ses_1', ...owner, inputs: ['ses_1'] }
    t.equal((await as('ada', 'POST', '/v1/sessions/ses_1/turns', turn)).status, 201)
    const sessionOf = async (who: string) => (await as(who, 'GET', '/v1/sessions/ses_1')).body
    const before = await sessionOf('ada')

    const bodies: Readonly<Record<string, unknown>> = {
      'POST /v1/sessions/{sessionId}/events': { events: [{ type: 'session.viewed', data: {} }] },
      'POST /v1/sessions/{sessionId}/inputs': { text: 'x' },
      'PATCH /v1/sessions/{sessionId}/inputs/{messageId}': { delivery: 'steer' },
      'POST /v1/sessions/{sessionId}/turns': owner,
      'POST /v1/sessions/{sessionId}/turns/{turnId}/claim': { ...owner, fromFence: 1 },
      'POST /v1/sessions/{sessionId}/turns/{turnId}/release': { fence: 1 },
      'POST /v1/sessions/{sessionId}/turns/{turnId}/interrupt': { reason: 'x' },
      'POST /v1/sessions/{sessionId}/requests/{requestId}/answer': { answers: [['x']] },
      'POST /v1/sessions/{sessionId}/requests/{requestId}/close': { reason: 'rejected' },
      'POST /v1/sessions/{sessionId}/live': {
        frames: [{ messageId: 'm', partId: 'p', kind: 'text', offset: 0, delta: 'x' }],
      },
    }
    const routes = (await routesOf(api)).filter(({ path }) => path.includes('{sessionId}'))
    t.ok(routes.length > 15)
    for (const route of routes) {
      const name = `${route.method} ${route.path}`
      const reply = await send(api, route, withToken('bob'), bodies[name])
      t.equal(reply.status, 404, name)
      if (route.method !== 'HEAD') t.match(reply.body, { code: 'session_not_found' })
    }
    const nobody = { status: 404, body: { code: 'owner_not_found' } }
    t.match(await as('bob', 'GET', '/v1/owners/ses_1'), nobody)
    t.match(await as('bob', 'PUT', '/v1/owners/ses_1/heartbeat', { incarnation: 1 }), nobody)
    t.match((await as('bob', 'GET', '/v1/sessions')).body, { data: [] })
    t.match((await as('bob', 'GET', '/v1/events')).body, { data: [] })
    t.match((await as('bob', 'GET', '/v1/requests')).body, { data: [] })
    t.match((await as('bob', 'GET', '/v1/work')).body, { data: [] })
    t.equal((await as('bob', 'GET', '/v1/owners/o/turns')).status, 404)
    t.same(await sessionOf('ada'), before, 'and nothing of it has changed')

    const own = { sessionId: 'ses_1', title: 'own' }
    t.equal((await as('bob', 'POST', '/v1/sessions', own)).status, 201, 'the same id is free')
    t.match(await sessionOf('bob'), { data: { title: 'own', headSeq: 1 } })
    t.same(await sessionOf('ada'), before)
    for (const [who, title] of [
      ['ada', 'secret'],
      ['bob', 'own'],
    ] as const) {
      const list = (await as(who, 'GET', '/v1/sessions')).body as { data: { title: string }[] }
      t.same(
        list.data.map((session) => session.title),
        [title],
      )
    }
    t.equal((await as('bob', 'GET', '/v1/sessions/ses_1/messages/ses_1')).status, 404)
    t.same(api.reported, [])
  },
)

t.test('pages of listed origins may read what they are answered, and no others may', async (t) => {
  await using api = await openTokenApp({ kim: { tenant: 'team', scopes: ['read'] } })
  const from = (origin: string, more = {}) => ({ origin, host: 'stemma.example', ...more })
  const listed = 'https://pages.example'
  const preflight = await api.call(
    'OPTIONS',
    '/v1/sessions',
    undefined,
    from(listed, { 'access-control-request-method': 'POST' }),
  )
  t.equal(preflight.status, 204)
  t.match(preflight.headers, {
    'access-control-allow-origin': listed,
    'access-control-allow-methods': /POST/,
    'access-control-allow-headers': /Authorization.*If-Match/,
    vary: 'Origin',
  })
  for (const [headers, status] of [
    [withToken('kim'), 200],
    [{}, 401],
  ] as const) {
    const reply = await api.call('GET', '/v1/sessions', undefined, from(listed, headers))
    t.equal(reply.status, status)
    t.equal(reply.headers['access-control-allow-origin'], listed, 'refusals can be read, too')
    t.match(String(reply.headers['access-control-expose-headers']), 'ETag')
    t.notOk(reply.headers['access-control-allow-credentials'])
  }
  for (const [origin, status] of [
    ['https://other.example', 403],
    ['https://stemma.example', 200],
  ] as const) {
    const reply = await api.call('GET', '/v1/sessions', undefined, from(origin, withToken('kim')))
    t.equal(reply.status, status, origin)
    t.equal(reply.headers['access-control-allow-origin'], undefined)
    t.equal(reply.headers['vary'], 'Origin')
  }
})
