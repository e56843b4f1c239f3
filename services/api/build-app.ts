import { fastify } from 'fastify'
import { Refusal } from '../../schema/errors.ts'
import { loopbackPrincipal } from './access/authenticate.ts'
import { addCors } from './access/cors.ts'
import type { ApiDeps, RouteDeps } from './deps.ts'
import { createMetrics } from './metrics.ts'
import { addOpenApi } from './openapi.ts'
import { collectMethods } from './plugins/methods.ts'
import { parseQuery } from './plugins/parse-query.ts'
import { withTickets } from './access/ticket-principal.ts'
import { addPrincipal } from './plugins/principal.ts'
import { addProblems, answer, answerUnreadable, type ProblemReply } from './plugins/problems.ts'
import { addRequestIds, requestIdOf } from './plugins/request-ids.ts'
import { dropSilentConnections } from './plugins/silent-connections.ts'
import { addStrictJson } from './plugins/strict-json.ts'
import { addValidation } from './plugins/validation.ts'
import { addAllEventRoutes } from './routes/all-events.ts'
import { addEventRoutes } from './routes/events.ts'
import { addHealthRoutes } from './routes/health.ts'
import { addImportRoutes } from './routes/imports.ts'
import { addInputRoutes } from './routes/inputs.ts'
import { addLiveRoutes } from './routes/live.ts'
import { addMessageRoutes } from './routes/messages.ts'
import { addOwnerRoutes } from './routes/owners.ts'
import { addProjectionRoutes } from './routes/projections.ts'
import { addRequestListRoutes } from './routes/request-lists.ts'
import { addRequestRoutes } from './routes/requests.ts'
import { addSessionStateRoutes } from './routes/session-states.ts'
import { addSessionRoutes } from './routes/sessions.ts'
import { addStreamRoute } from './routes/stream.ts'
import { addSyncRoutes } from './routes/sync.ts'
import { addTicketRoutes } from './routes/tickets.ts'
import { addTurnCommandRoutes } from './routes/turn-commands.ts'
import { addTurnRoutes } from './routes/turns.ts'
import { addWorkRoutes } from './routes/work.ts'
import { addSockets } from './socket/add-sockets.ts'
import type { App, TypeBoxProvider } from './type-provider.ts'

/** Node takes 16 KiB of headers: no path is longer, so that every id reaches its check. */
const longestPath = 16 * 1024
/** In which a request must have arrived, its body included. */
const requestTimeoutMs = 300_000

/** Puts the app together; it does not listen. Closing it ends what waits, then the connections. */
export const buildApp = (deps: ApiDeps): App => {
  const stopping = new AbortController()
  const routeDeps: RouteDeps = { ...deps, stopping: stopping.signal, outlets: new Set() }
  const metrics = createMetrics(routeDeps)
  const app: App = fastify({
    logger: false,
    bodyLimit: deps.settings.maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    genReqId: requestIdOf,
    routerOptions: { maxParamLength: longestPath, querystringParser: parseQuery },
    return503OnClosing: false,
    clientErrorHandler: answerUnreadable,
    // Before a route is found there is no provider that says what its reply may send.
    frameworkErrors: (error, request, reply) =>
      answer(error, request, reply as unknown as ProblemReply, deps.report),
  }).withTypeProvider<TypeBoxProvider>()

  addRequestIds(app)
  addCors(app, deps.settings)
  addProblems(app, deps.report)
  app.addHook('preClose', async () => stopping.abort())
  dropSilentConnections(app)
  app.addHook('onRequest', async (_request, reply) => {
    if (!stopping.signal.aborted) return
    reply.header('connection', 'close')
    throw new Refusal('overloaded', 'the server is stopping')
  })
  // What was under way when the server began to stop is answered, and its connection not kept.
  app.addHook('onSend', async (_request, reply) => {
    if (stopping.signal.aborted) reply.header('connection', 'close')
  })
  addPrincipal(app, withTickets(deps, deps.authenticate ?? loopbackPrincipal(deps)))
  addStrictJson(app)
  addValidation(app)
  app.addHook('onResponse', async (request, reply) =>
    metrics.answered({
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
    }),
  )

  const methods = collectMethods(app)
  addOpenApi(app)
  addHealthRoutes(app, routeDeps, metrics)
  addSessionRoutes(app, routeDeps)
  addSessionStateRoutes(app, routeDeps)
  addEventRoutes(app, routeDeps)
  addInputRoutes(app, routeDeps)
  addTurnRoutes(app, routeDeps)
  addTurnCommandRoutes(app, routeDeps)
  addRequestRoutes(app, routeDeps)
  addRequestListRoutes(app, routeDeps)
  addWorkRoutes(app, routeDeps)
  addOwnerRoutes(app, routeDeps)
  addMessageRoutes(app, routeDeps)
  addAllEventRoutes(app, routeDeps)
  addImportRoutes(app, routeDeps)
  addLiveRoutes(app, routeDeps)
  addProjectionRoutes(app, routeDeps)
  addSyncRoutes(app, routeDeps)
  addTicketRoutes(app, routeDeps)
  addSockets(app, () => {
    addStreamRoute(app, routeDeps)
    methods.addOthers()
  })
  return app
}
