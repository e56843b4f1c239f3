import type { Settings } from '../../settings.ts'
import type { App } from '../type-provider.ts'

const exposed = 'ETag, Location, Allow, Retry-After, WWW-Authenticate, X-Request-Id'
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const headers =
  'Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Request-Id'

/**
 * Lets pages of the listed origins read what they are answered, refusals too. Add it before whatever
 * refuses. To all others nothing is said of it, and their browser keeps the answer from them. No
 * cookies are at work here, so credentials are not allowed.
 */
export const addCors = (app: App, { origins }: Pick<Settings, 'origins'>): void => {
  if (origins.length === 0) return
  app.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !origins.includes(origin)) return
    reply.header('access-control-allow-origin', origin)
    reply.header('access-control-expose-headers', exposed)
    if (request.headers['access-control-request-method'] === undefined) return
    reply.header('access-control-allow-methods', methods)
    reply.header('access-control-allow-headers', headers)
    reply.header('access-control-max-age', '600')
  })
}
