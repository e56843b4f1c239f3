/**
 * 64 clients as a process of their own. Asked for a round, each appends to a session of its own, one
 * event a request; gives the requests per second. Arguments: port, clients, and
 * `create` if the sessions must be there first.
 */
import { newId } from '../../services/log/new-id.ts'
import { answer } from '../child.ts'
import { payload } from '../payload.ts'
import { timed } from '../timed.ts'
import { openClient } from './client.ts'

const [port = '', clients = '64', creates = ''] = process.argv.slice(2)
const count = Number(clients)
const open = await Promise.all(Array.from({ length: count }, () => openClient(Number(port))))
const prefix = newId('ses')
const body = JSON.stringify({ events: [{ type: 'session.renamed', data: payload }] })

if (creates === 'create') {
  await Promise.all(
    open.map(async ({ post }, n) => {
      const status = await post('/v1/sessions', JSON.stringify({ sessionId: `${prefix}_${n}` }))
      if (status !== 201) throw new Error(`a create was answered ${status}`)
    }),
  )
}

answer('ready', (milliseconds: number) =>
  timed(count, milliseconds, (writer) => async () => {
    const status = await open[writer]!.post(`/v1/sessions/${prefix}_${writer}/events`, body)
    if (status !== 200) throw new Error(`an append was answered ${status}`)
    return 1
  }),
)
