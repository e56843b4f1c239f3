import type { Socket } from 'node:net'
import type { App } from '../type-provider.ts'

/**
 * Clients open connections before they need them. One on which nothing was ever asked does not count
 * as idle, and a server that closes would wait for it until its first request is overdue.
 */
export const dropSilentConnections = (app: App): void => {
  const silent = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  app.server.on('request', ({ socket }: { readonly socket: Socket }) => silent.delete(socket))
  app.addHook('preClose', async () => {
    for (const socket of silent) if (socket.bytesRead === 0) socket.destroy()
  })
}
