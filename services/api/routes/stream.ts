import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebSocket } from 'ws'
import { Refusal } from '../../../schema/errors.ts'
import { stillAllowed } from '../access/still-allowed.ts'
import type { RouteDeps } from '../deps.ts'
import { principalOf } from '../plugins/principal.ts'
import { serveSocket } from '../socket/serve-socket.ts'
import type { App } from '../type-provider.ts'

/** Adds the route of the WebSocket; its plugin must be there (socket/add-sockets.ts). */
export const addStreamRoute = (app: App, deps: RouteDeps): void => {
  const responses = new WeakMap<IncomingMessage, ServerResponse>()
  app.route({
    method: 'GET',
    url: '/v1/stream',
    config: { scope: 'read' },
    schema: {
      summary: 'The WebSocket: subscriptions, appends, the live channel',
      description: 'Subprotocol `stemma.v1`; frames are JSON texts. See docs/streams.md.',
      response: {},
    },
    handler: async () => {
      throw new Refusal('upgrade_required', 'this is a WebSocket: ask for an upgrade')
    },
    preValidation: async (request, reply) => {
      if (!request.ws) return
      responses.set(request.raw, reply.raw)
      if (deps.outlets.size >= deps.settings.maxSockets) {
        throw new Refusal('overloaded', `${deps.outlets.size} streams are open on this server`)
      }
      const offered = request.headers['sec-websocket-protocol']?.split(',') ?? []
      if (offered.length > 0 && !offered.some((name) => name.trim() === 'stemma.v1')) {
        throw new Refusal('invalid_header', 'the subprotocol is stemma.v1')
      }
    },
    wsHandler: (socket, request) => {
      letGo(socket, request.raw, responses.get(request.raw))
      const principal = principalOf(request)
      const { headers } = request
      serveSocket(deps, socket, principal, () =>
        stillAllowed(deps.authenticate, { headers }, principal),
      )
    },
  })
}

/**
 * An open socket needs nothing more of the request that it came from: held by the response that waits
 * on the connection and by the plugin's listener for errors, it is a fifth of what a socket takes.
 * Whoever calls it listens for errors before anything else runs.
 */
const letGo = (
  socket: WebSocket,
  request: IncomingMessage,
  response: ServerResponse | undefined,
): void => {
  response?.detachSocket(request.socket)
  socket.removeAllListeners('error')
}
