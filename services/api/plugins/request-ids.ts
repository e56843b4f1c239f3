import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { App } from '../type-provider.ts'

const idOfOthers = /^[A-Za-z0-9._:~-]{1,128}$/

/** The caller's `X-Request-Id` if it is an id, else one of ours. */
export const requestIdOf = (request: IncomingMessage): string => {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && idOfOthers.test(given) ? given : randomUUID()
}

/** Every reply names its request, and is kept by nobody on the way. */
export const addRequestIds = (app: App): void => {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('cache-control', 'no-store')
    reply.header('x-content-type-options', 'nosniff')
  })
}
