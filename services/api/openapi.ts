import { readFileSync } from 'node:fs'
import type { RouteOptions } from 'fastify'
import { eventTable } from '../../schema/events/event-table.ts'
import { Problem } from '../../schema/http/problem.ts'
import { problemType } from './plugins/problems.ts'
import type { App } from './type-provider.ts'

type Json = Readonly<Record<string, unknown>>
type ObjectSchema = {
  readonly properties?: Readonly<Record<string, Json>>
  readonly required?: readonly string[]
}

/** Describes all routes that are added after this call at `/openapi.json`. */
export const addOpenApi = (app: App): void => {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    if (!route.config?.internal && route.method !== 'HEAD') routes.push(route)
  })
  let text: string | undefined
  app.get(
    '/openapi.json',
    { schema: { summary: 'This description', querystring: {}, response: { 200: {} } } },
    async (_request, reply) => {
      reply.type('application/json; charset=utf-8')
      return (text ??= JSON.stringify(describe(routes)))
    },
  )
}

/** OpenAPI 3.1, whose schemas are JSON Schemas: those of the routes go in as they are. */
const describe = (routes: readonly RouteOptions[]): Json => {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    for (const method of [route.method].flat()) {
      paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(route, method, path) }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Stemma',
      version,
      description:
        'The session store that coding-agent servers share. Bodies are strict: unknown members and ' +
        'wrong types are refused, nothing is coerced or dropped. Errors are problems (RFC 9457) with ' +
        'a stable `code`. `ETag` is the seq of the session.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'Of a server with tokens; what is named with a route is the scope it takes.',
        },
      },
      schemas: {
        Problem,
        ...Object.fromEntries(
          Object.entries(eventTable).map(([type, { data, writers }]) => [
            `event.${type}`,
            { ...data, description: `data of \`${type}\`, written by: ${writers.join(', ')}` },
          ]),
        ),
      },
      responses: {
        Problem: {
          description: 'A refusal; `code` says which',
          content: { [problemType]: { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  }
}

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string }

const operationOf = ({ schema = {}, config }: RouteOptions, method: string, path: string): Json => {
  const scope = config?.scope
  // What only takes `read` writes to no session, whatever its method.
  const writes = method !== 'GET' && scope !== 'read'
  const body = schema.body as ObjectSchema | undefined
  return {
    operationId: operationId(method, path),
    summary: schema.summary,
    ...(schema.description !== undefined && { description: schema.description }),
    parameters: [
      ...parametersOf('path', schema.params as ObjectSchema | undefined),
      ...parametersOf('query', schema.querystring as ObjectSchema | undefined),
      ...(writes ? writeHeaders : []),
    ],
    ...(body &&
      Object.keys(body.properties ?? {}).length > 0 && {
        requestBody: {
          required: !config?.bodyMayBeMissing,
          content: { 'application/json': { schema: body } },
        },
      }),
    ...(scope !== undefined && { security: [{ token: [scope] }] }),
    responses: {
      ...Object.fromEntries(
        Object.entries((schema.response ?? {}) as Record<string, Json>).map(responseOf),
      ),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

const responseOf = ([status, schema]: [string, Json]): [string, Json] => {
  if (status === '204') return [status, { description: 'Done' }]
  const content = schema['content'] ?? { 'application/json': { schema } }
  return [status, { description: status === '201' ? 'Created' : 'OK', content }]
}

const parametersOf = (place: 'path' | 'query', schema: ObjectSchema | undefined): Json[] =>
  Object.entries(schema?.properties ?? {}).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: schema?.required?.includes(name) ?? false,
    ...(description !== undefined && { description }),
    schema: property,
  }))

const writeHeaders: readonly Json[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The same request under the same key is answered again and done once; another one is ' +
      '`key_reused`.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:~-]{1,128}$' },
  },
  {
    name: 'If-Match',
    in: 'header',
    required: false,
    description: 'The head that the caller has seen; another one is `precondition_failed`.',
    schema: { type: 'string', pattern: '^("[0-9]+"|[0-9]+)$' },
  },
]

/** `POST /v1/sessions/{sessionId}/events` is `postSessionsEvents`. */
const operationId = (method: string, path: string): string =>
  path
    .split('/')
    .filter((piece) => piece !== '' && piece !== 'v1')
    .reduce((id, piece) => {
      const word = piece.startsWith('{') ? `By ${piece.slice(1, -1)}` : piece
      return id + word.split(/\W+/).map(capitalised).join('')
    }, method.toLowerCase())

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
