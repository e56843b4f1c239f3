/**
 * 64 clients with a socket each as a process of their own. Asked for a round, each appends to a
 * session of its own, one event a frame, and waits for the answer; gives the appends per second.
 * Arguments: port, clients, and `create` if the sessions must be there first.
 */
import { newId } from '../../services/log/new-id.ts'
import { answer } from '../child.ts'
import { openClient as openHttp } from '../http/client.ts'
import { payload } from '../payload.ts'
import { timed } from '../timed.ts'
import { failOnError, openClient } from './client.ts'

const [port = '', clients = '64', creates = ''] = process.argv.slice(2)
const count = Number(clients)
const prefix = newId('ses')

if (creates === 'create') {
  const http = await openHttp(Number(port))
  for (let n = 0; n < count; n += 1) {
    const status = await http.post('/v1/sessions', JSON.stringify({ sessionId: `${prefix}_${n}` }))
    if (status !== 201) throw new Error(`a create was answered ${status}`)
  }
  http.close()
}

const open = await Promise.all(
  Array.from({ length: count }, async (_, n) => {
    let taken = (): void => {}
    const socket = await openClient(Number(port), (text) => {
      failOnError(text)
      taken()
    })
    const frame = JSON.stringify({
      op: 'append',
      ref: 'r',
      sessionId: `${prefix}_${n}`,
      events: [{ type: 'session.renamed', data: payload }],
    })
    return (): Promise<void> =>
      new Promise((resolve) => {
        taken = resolve
        socket.send(frame)
      })
  }),
)

answer('ready', (milliseconds: number) =>
  timed(count, milliseconds, (writer) => async () => {
    await open[writer]!()
    return 1
  }),
)
