/**
 * Idle subscribers as a process of their own. Asked to, opens its sockets, subscribes on each, and
 * answers when all are caught up. Arguments: port, the number of the first
 * session, sockets, subscriptions on each.
 */
import type { WebSocket } from 'ws'
import { answer } from '../child.ts'
import { createLane } from '../../services/lane.ts'
import { failOnError, openClient } from '../socket/client.ts'

const [port, first, sockets, subscriptions] = process.argv.slice(2).map(Number)
/** Opened at once: more would be refused while the server is at it. */
const lane = createLane(50)
let open: WebSocket[] = []

const subscribe = async (socketNumber: number): Promise<WebSocket> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let caughtUp = 0
  const socket = await openClient(port!, (text) => {
    failOnError(text)
    if (text.includes('"caughtUp":')) caughtUp += 1
    if (caughtUp === subscriptions) resolve()
  })
  for (let n = 0; n < subscriptions!; n += 1) {
    const sessionId = `ses_${first! + socketNumber * subscriptions! + n}`
    socket.send(JSON.stringify({ op: 'subscribe', sub: `s${n}`, sessionId }))
  }
  await promise
  return socket
}

answer('ready', async () => {
  open = await Promise.all(Array.from({ length: sockets! }, (_, n) => lane(() => subscribe(n))))
  return open.length
})
