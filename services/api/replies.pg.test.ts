import { Ajv } from 'ajv'
import t from 'tap'
import type { Scope } from './plugins/principal.ts'
import type { Static, TSchema } from 'typebox'
import type { Message, MessagePart } from '../../projections/transcript/to-message.ts'
import { Message as MessageSchema, MessagePart as PartSchema } from '../../schema/http/messages.ts'
import { Session as SessionSchema } from '../../schema/http/sessions.ts'
import { SyncedSession as SyncedSchema } from '../../schema/http/sync.ts'
import { Turn as TurnSchema } from '../../schema/http/turns.ts'
import type { Session } from '../reads/session.ts'
import type { Turn } from '../reads/to-turns.ts'
import type { SyncedSession } from '../reads/sync.ts'
import { splitEvents } from '../adapters/split-events.ts'
import { translateOpencodeV2 } from '../adapters/opencode-v2/translate.ts'
import { readRecordings } from '../../test/harness/opencode-messages.ts'
import { openTestApp, type Answer, type TestApp } from '../../test/harness/test-app.ts'

type Operation = {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: object }>> }>
  >
}
type Description = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

/** Members that are given out and not described: the compiler finds those that no test meets. */
type Described<Given, Schema extends TSchema> = [
  Exclude<keyof Given, keyof Static<Schema>>,
] extends [never]
  ? true
  : Exclude<keyof Given, keyof Static<Schema>>
const described: readonly [
  Described<Message, typeof MessageSchema>,
  Described<MessagePart, typeof PartSchema>,
  Described<Session, typeof SessionSchema>,
  Described<Turn, typeof TurnSchema>,
  Described<SyncedSession, typeof SyncedSchema>,
] = [true, true, true, true, true]

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })

/** The schema without the freedom to grow: a member that it does not name is a member to describe. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closed(value)]),
  )
  return 'properties' in members ? { additionalProperties: false, ...members } : members
}

const checker = (description: Description) => {
  const seen = new Set<string>()
  return {
    seen,
    faultsOf: (method: string, path: string, { status, body }: Answer): unknown => {
      seen.add(`${method} ${path}`)
      const answered = description.paths[path]![method.toLowerCase()]!.responses[status]
      if (!answered) return `${status} ${JSON.stringify(body)}`
      const { content } = answered
      const validate = ajv.compile(closed(content!['application/json']!.schema) as object)
      return validate(body) ? undefined : validate.errors
    },
  }
}

const describe = async ({ call }: TestApp): Promise<Description> =>
  (await call('GET', '/openapi.json')).body

t.test(
  'replies are what the description of the API says, and have no member that it does not name',
  async (t) => {
    await using api = await openTestApp({
      authenticate: async () => ({
        tenant: 1,
        subject: 'somebody',
        scopes: new Set<Scope>(['read', 'append', 'answer', 'import', 'admin']),
      }),
    })
    const description = await describe(api)
    const { seen, faultsOf } = checker(description)
    const ask = async (
      method: string,
      path: string,
      url: string,
      body?: unknown,
    ): Promise<never> => {
      const reply = await api.call(method, url, body)
      if (reply.status !== 204)
        t.equal(faultsOf(method, path, reply), undefined, `${method} ${url}`)
      else seen.add(`${method} ${path}`)
      return reply.body
    }
    const session = '/v1/sessions/{sessionId}'
    await ask('GET', '/livez', '/livez')
    await ask('GET', '/readyz', '/readyz')
    for (const recording of readRecordings()) {
      const { origin, sessionId, events } = translateOpencodeV2(recording)
      for (const some of splitEvents(events, { events: 1000, bytes: 1 << 20 })) {
        await ask('POST', '/v1/imports', '/v1/imports', { origin, sessionId, events: some })
      }
      const at = `/v1/sessions/${sessionId}`
      await ask('GET', session, at)
      await ask('GET', `${session}/events`, `${at}/events?limit=500`)
      await ask('GET', `${session}/context`, `${at}/context`)
      const synced = { sessions: [{ sessionId, afterSeq: 1 }] }
      await ask('POST', '/v1/sync', '/v1/sync', synced)
      const page = (await ask(
        'GET',
        `${session}/messages`,
        `${at}/messages?include=hidden&limit=500`,
      )) as {
        data: { messageId: string; turnId?: string }[]
      }
      const last = page.data.at(-1)
      if (last)
        await ask('GET', `${session}/messages/{messageId}`, `${at}/messages/${last.messageId}`)
      if (last?.turnId) await ask('GET', `${session}/turns/{turnId}`, `${at}/turns/${last.turnId}`)
    }
    await ask('GET', '/v1/sessions', '/v1/sessions')
    await ask('GET', '/v1/events', '/v1/events?limit=500')
    const made = { sessionId: 's', title: 'x', metadata: { a: 1 } }
    await ask('POST', '/v1/sessions', '/v1/sessions', made)
    await ask('PATCH', session, '/v1/sessions/s', { title: 'y' })
    await ask('POST', `${session}/archive`, '/v1/sessions/s/archive')
    await ask('POST', `${session}/unarchive`, '/v1/sessions/s/unarchive')
    const file = { type: 'file', uri: 'file:///x', mediaType: 'text/plain', name: 'x' }
    await ask('POST', `${session}/inputs`, '/v1/sessions/s/inputs', {
      messageId: 'm',
      files: [file],
    })
    await ask('PATCH', `${session}/inputs/{messageId}`, '/v1/sessions/s/inputs/m', {
      delivery: 'steer',
    })
    await ask('GET', `${session}/inputs`, '/v1/sessions/s/inputs')
    await ask('DELETE', `${session}/inputs/{messageId}`, '/v1/sessions/s/inputs/m')
    await ask('POST', `${session}/turns`, '/v1/sessions/s/turns', {
      turnId: 't',
      ownerId: 'o',
      incarnation: 1,
    })
    const events = [
      { eventId: 'e', type: 'session.viewed', data: {} },
      { type: 'turn.ended', data: { turnId: 't', outcome: 'completed', fence: 1 } },
    ]
    for (let times = 0; times < 2; times += 1) {
      await ask('POST', `${session}/events`, '/v1/sessions/s/events', {
        events: events.slice(0, 2 - times),
        ...(times === 0 && { turnId: 't', fence: 1 }),
      })
    }
    await ask('GET', `${session}/turns/{turnId}`, '/v1/sessions/s/turns/t')
    await ask('POST', `${session}/inputs`, '/v1/sessions/s/inputs', { text: 'waits' })
    const open = { turnId: 't2', ownerId: 'o', incarnation: 1 }
    await ask('POST', `${session}/turns`, '/v1/sessions/s/turns', open)
    const question = { question: 'which?', options: [] }
    const called = { messageId: 'm2', callId: 'c', name: 'n', input: {}, effect: 'once' }
    await ask('POST', `${session}/events`, '/v1/sessions/s/events', {
      turnId: 't2',
      fence: 2,
      events: [
        {
          type: 'step.started',
          data: {
            messageId: 'm2',
            attempt: 1,
            agent: 'a',
            model: { modelId: 'm', providerId: 'p' },
          },
        },
        { type: 'tool.called', data: { ...called, effectKey: 'k', executedBy: 'host' } },
        {
          type: 'request.opened',
          data: {
            requestId: 'r',
            kind: 'question',
            messageId: 'm2',
            callId: 'c',
            questions: [question],
          },
        },
      ],
    })
    await ask('POST', '/v1/sync', '/v1/sync', {
      sessions: ['s', 'nobody'].map((sessionId) => ({ sessionId, afterSeq: 1 })),
    })
    const owner = '/v1/owners/{ownerId}'
    const turn = `${session}/turns/{turnId}`
    const lease = { ownerId: 'own_lease', lifetime: 'lease', ttlMs: 60_000, host: 'h' }
    await ask('POST', '/v1/owners', '/v1/owners', lease)
    await ask('GET', owner, '/v1/owners/own_lease')
    const incarnation = { incarnation: 1 }
    await ask('PUT', `${owner}/heartbeat`, '/v1/owners/own_lease/heartbeat', incarnation)
    const answer = { answers: [['x']], device: 'phone' }
    const request = `${session}/requests/{requestId}`
    await ask('POST', `${request}/answer`, '/v1/sessions/s/requests/r/answer', answer)
    await ask('GET', '/v1/requests', '/v1/requests?limit=500')
    await ask('GET', `${session}/turns`, '/v1/sessions/s/turns')
    await ask('GET', `${owner}/turns`, '/v1/owners/o/turns')
    await ask('POST', `${turn}/release`, '/v1/sessions/s/turns/t2/release', { fence: 2 })
    await ask('GET', '/v1/work', '/v1/work')
    const claim = { ownerId: 'own_lease', incarnation: 1, fromFence: 3 }
    await ask('POST', `${turn}/claim`, '/v1/sessions/s/turns/t2/claim', claim)
    await ask('POST', `${session}/events`, '/v1/sessions/s/events', {
      turnId: 't2',
      fence: 4,
      events: [
        {
          type: 'request.opened',
          data: {
            requestId: 'r2',
            kind: 'permission',
            permission: { action: 'write', resources: ['a'] },
          },
        },
        {
          type: 'request.opened',
          data: { requestId: 'r3', kind: 'question', questions: [question] },
        },
      ],
    })
    const always = { decision: 'allow_always', message: 'go on' }
    await ask('POST', `${request}/answer`, '/v1/sessions/s/requests/r2/answer', always)
    const replied = { reason: 'dismissed' }
    await ask('POST', `${request}/close`, '/v1/sessions/s/requests/r3/close', replied)
    await ask('GET', `${session}/permissions`, '/v1/sessions/s/permissions')
    await ask('DELETE', `${session}/permissions/{requestId}`, '/v1/sessions/s/permissions/r2')
    const interrupt = { reason: 'enough', device: 'phone', graceMs: 60_000 }
    await ask('POST', `${turn}/interrupt`, '/v1/sessions/s/turns/t2/interrupt', interrupt)
    await ask('GET', `${session}/turns`, '/v1/sessions/s/turns')
    await ask('GET', turn, '/v1/sessions/s/turns/t2')
    const exit = { incarnation: 1, reason: 'crashed', fail: true }
    await ask('POST', `${owner}/exited`, '/v1/owners/own_lease/exited', exit)
    await ask('DELETE', owner, '/v1/owners/own', incarnation)
    await ask('GET', turn, '/v1/sessions/s/turns/t2')
    await ask('DELETE', session, '/v1/sessions/s')
    await ask('GET', '/v1/requests', '/v1/requests')
    await ask('POST', `${session}/restore`, '/v1/sessions/s/restore')
    await ask('POST', '/v1/tickets', '/v1/tickets')
    const part = { messageId: 'm', partId: 'p', kind: 'text' }
    await ask('POST', `${session}/live`, '/v1/sessions/s/live', {
      frames: [
        { ...part, offset: 0, delta: 'a' },
        { ...part, offset: 9, delta: 'b' },
      ],
    })
    const rebuilds = '/v1/projections/{name}/rebuilds'
    await ask('GET', '/v1/projections', '/v1/projections')
    await ask('POST', rebuilds, '/v1/projections/transcript/rebuilds', { verify: true })
    await ask('GET', `${rebuilds}/{rebuildId}`, '/v1/projections/transcript/rebuilds/2')

    const operations = Object.entries(description.paths).flatMap(([path, of]) =>
      Object.keys(of).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const left = operations.filter((one) => !seen.has(one))
    t.same(
      left.toSorted(),
      ['GET /metrics', 'GET /openapi.json', 'GET /v1/stream'],
      'every route was asked',
    )
    t.ok(described.every(Boolean))
    t.same(api.reported, [])
  },
)

t.test(
  'the description is whole: ids of operations are unique, parameters of paths are named',
  async (t) => {
    await using api = await openTestApp()
    const { paths, components } = await describe(api)
    const ids = new Set<string>()
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const { operationId, parameters, summary } = operation as unknown as {
          operationId: string
          summary?: string
          parameters: { name: string; in: string; required: boolean }[]
        }
        t.notOk(ids.has(operationId), `${operationId} is unique`)
        ids.add(operationId)
        t.ok(summary, `${method} ${path} says what it does`)
        const named = parameters.filter((one) => one.in === 'path').map((one) => `{${one.name}}`)
        t.same(named, path.match(/\{\w+\}/g) ?? [], path)
      }
    }
    for (const [name, schema] of Object.entries(components.schemas)) {
      t.doesNotThrow(() => ajv.compile(schema), `${name} is a schema`)
    }
  },
)

t.test(
  '/metrics counts requests by route, method and status, in the form that Prometheus reads',
  async (t) => {
    await using api = await openTestApp()
    await api.call('POST', '/v1/sessions', { sessionId: 's' })
    await api.call('GET', '/v1/sessions/nobody')
    await api.call('GET', '/nowhere/at/all')
    const { text, headers } = await api.call('GET', '/metrics')
    t.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
    for (const line of text.trimEnd().split('\n')) {
      t.match(
        line,
        /^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? (\d+(\.\d+)?(e-?\d+)?|NaN))$/,
      )
    }
    t.match(text, 'stemma_http_requests_total{method="POST",route="/v1/sessions",status="201"} 1')
    t.match(text, 'route="/v1/sessions/:sessionId",status="404"} 1')
    t.match(text, 'route="none",status="404"} 1')
    t.match(text, /stemma_appends_total [1-9]/)
  },
)
