import fastifyWebsocket from '@fastify/websocket'
import type { App } from '../type-provider.ts'

const mostFrameBytes = 9 * 1024 * 1024

/** Makes sockets possible; `then` adds their routes, when the plugin is there. */
export const addSockets = (app: App, then: () => void): void => {
  app.register(fastifyWebsocket, {
    options: {
      maxPayload: mostFrameBytes,
      perMessageDeflate: false,
      // A ticket travels beside the subprotocol and is none.
      handleProtocols: (offered) => (offered.has('stemma.v1') ? 'stemma.v1' : false),
    },
  })
  // A connection that asked for an upgrade is out of the HTTP server's hands: refused before the
  // plugin saw it, it would stay open for ever.
  app.addHook('onResponse', async ({ raw }) => {
    if (raw.headers.upgrade !== undefined) raw.socket.destroySoon()
  })
  app.after((error) => {
    if (error) throw error
    then()
  })
}
