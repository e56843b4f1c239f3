import t from 'tap'
import { eventTable } from '../../schema/events/event-table.ts'
import { mutate, sampleSchema } from '../../test/harness/sample-schema.ts'
import { seeded } from '../../test/harness/seeded.ts'
import { openTestApp, type Answer } from '../../test/harness/test-app.ts'

/** Another one each time, and said, so that what was found can be found again. */
const seed = Math.floor(Math.random() * 2 ** 31)
const ids = ['a', 'b', 'c', '__proto__', 'constructor', 'x'.repeat(128)]

type Parameter = { readonly name: string; readonly in: string; readonly schema: object }
type Operation = {
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: object }>> }
}

/** What is wrong with an answer, if anything is: only the caller may be at fault, and it is said how. */
const faultOf = ({ status, headers, body, text }: Answer): string | undefined => {
  if (status < 400) return undefined
  const problem = body as { code?: string; status?: number; title?: string } | undefined
  const isProblem =
    String(headers['content-type']).startsWith('application/problem+json') &&
    problem?.status === status &&
    problem.code !== undefined
  return status < 500 && isProblem ? undefined : `${status} ${text}`
}

t.test(`random requests to every route are never the server's fault (seed ${seed})`, async (t) => {
  const random = seeded(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  await using api = await openTestApp()
  for (const sessionId of ids.slice(0, 3)) await api.call('POST', '/v1/sessions', { sessionId })
  const { paths } = (await api.call('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, Operation>>
  }
  const operations = Object.entries(paths).flatMap(([path, of]) =>
    Object.entries(of).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )
  const strange = [
    '%00',
    '%ff',
    '%',
    '',
    '..',
    'a/b',
    '%F0%9F%98%80',
    'a%20b',
    "'",
    '%1e',
    '-1',
    '1e9',
  ]
  const text = (schema: object): string => {
    if (random() < 0.2) return pick(strange)
    const value = sampleSchema(schema, random, ids)
    try {
      return encodeURIComponent(String(value))
    } catch {
      return '%ED%A0%80'
    }
  }
  const counts = new Map<number, number>()
  for (let n = 0; n < 1_500; n += 1) {
    const { method, path, operation } = pick(operations)
    // Most are to find their session there.
    if (method === 'DELETE' && random() < 0.9) continue
    const inPath = new Map(
      operation.parameters.filter((one) => one.in === 'path').map((one) => [one.name, one.schema]),
    )
    const query = operation.parameters
      .filter((one) => one.in === 'query' && one.name !== 'waitMs' && random() < 0.4)
      .map((one) => `${one.name}=${text(one.schema)}`)
    const url =
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => text(inPath.get(name)!)) +
      (query.length > 0 ? `?${query.join('&')}` : '')
    const schema = operation.requestBody?.content['application/json']?.schema
    let body = schema && sampleSchema(schema, random, ids)
    for (let times = 0; schema && times < 2 && random() < 0.4; times += 1)
      body = mutate(body, random)
    const headers = {
      ...(random() < 0.1 && { 'if-match': pick(['"1"', '7', '*', 'W/"1"', '']) }),
      ...(random() < 0.1 && { 'idempotency-key': pick(['k1', 'k2', 'ü', '']) }),
    }
    const payload = schema && JSON.stringify(body)
    const reply = await api.call(method, url, payload, headers)
    counts.set(reply.status, (counts.get(reply.status) ?? 0) + 1)
    const fault = faultOf(reply)
    if (fault) t.fail(`${method} ${url} ${payload} ${JSON.stringify(headers)}: ${fault}`)
  }
  t.ok(
    (counts.get(200) ?? 0) + (counts.get(201) ?? 0) > 100,
    `answers: ${JSON.stringify([...counts])}`,
  )
  t.same(api.reported, [])
})

t.test(
  `random events of every type, appended and imported, are taken or refused, and what was taken is read (seed ${seed})`,
  async (t) => {
    const random = seeded(seed)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
    await using api = await openTestApp()
    const types = Object.keys(eventTable) as (keyof typeof eventTable)[]
    const few = ids.slice(0, 4)
    const eventOf = (type: (typeof types)[number], eventId: string) => {
      const data = sampleSchema(eventTable[type].data, random, few)
      return { eventId, type, data: random() < 0.05 ? mutate(data, random) : data, meta: {} }
    }
    let taken = 0
    const seen = new Set<string>()
    for (let session = 0; session < 12; session += 1) {
      const origin = { system: 'random', sessionId: `r${session}` }
      const start = { ...eventOf('session.created', 'start'), data: { origin } }
      await api.call('POST', '/v1/imports', { origin, events: [start] })
      for (let n = 0; n < 150; n += 1) {
        const type = pick(types)
        if (type === 'session.deleted' && random() < 0.9) continue
        const event = eventOf(type, `e${n}`)
        if (random() < 0.1) Object.assign(event.meta, { importClosing: true })
        const importing = random() < 0.8
        const held = random() < 0.3 ? { turnId: pick(few), fence: pick([0, 1, 2]) } : {}
        const reply = importing
          ? await api.call('POST', '/v1/imports', { origin, events: [event] })
          : await api.call('POST', `/v1/sessions/r${session}/events`, { events: [event], ...held })
        if (reply.status === 200) {
          taken += 1
          seen.add(type)
        }
        const fault = faultOf(reply)
        if (fault) t.fail(`${importing ? 'import' : 'append'} ${JSON.stringify(event)}: ${fault}`)
      }
      // What was deleted on the way is brought back to be read.
      await api.call('POST', `/v1/sessions/r${session}/restore`)
      for (const path of [
        '',
        '/messages',
        '/messages?include=hidden&order=desc',
        '/context',
        '/inputs',
        '/events',
        '/turns/a',
      ]) {
        const reply = await api.call('GET', `/v1/sessions/r${session}${path}`)
        const fault = faultOf(reply)
        if (fault) t.fail(`GET ${path}: ${fault}`)
        t.notOk((reply.body as { stalled?: object } | undefined)?.stalled, `${path} is not stalled`)
      }
    }
    t.ok(taken > 100 && seen.size > 20, `${taken} events of ${seen.size} types were taken`)
    t.equal((await api.call('GET', '/v1/sessions')).status, 200)
    t.same(api.reported, [])
  },
)
