/**
 * The clients of two servers on one database: appends go to the first, one every 5 ms whatever
 * comes back, and a subscriber of the second follows all the sessions. Asked for a round, by the
 * name of the contender, gives the middle and the 99th percentile of the delays in ms, and the
 * middle of the delays of the answers to the appends. Arguments: url of the database, ports of the
 * two.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../services/log/new-id.ts'
import { answer } from '../child.ts'
import { openClient as openHttp } from '../http/client.ts'
import { payload } from '../payload.ts'
import { failOnError, openClient } from '../socket/client.ts'
import { openFloor } from './open-floor.ts'

const everyMs = 5
const count = 50
const [url = '', portA = '', portB = ''] = process.argv.slice(2)
const floor = await openFloor(url)
const sessionIds = Array.from({ length: count }, () => newId('ses'))
const waiting = new Map<string, () => void>()

const http = await openHttp(Number(portA))
for (const sessionId of sessionIds) await http.post('/v1/sessions', JSON.stringify({ sessionId }))
http.close()

const sentAt = new Map<string, number>()
let answered: number[] = []
const writer = await openClient(Number(portA), (text) => {
  failOnError(text)
  const ref = (JSON.parse(text) as { ref: string }).ref
  answered.push(performance.now() - sentAt.get(ref)!)
  sentAt.delete(ref)
})
let caughtUp = 0
const reader = await openClient(Number(portB), (text) => {
  failOnError(text)
  if (text.includes('"caughtUp":')) caughtUp += 1
  const eventId = /"eventId":"(\w+)"/.exec(text)?.[1]
  if (eventId === undefined) return
  waiting.get(eventId)?.()
  waiting.delete(eventId)
})
for (const sessionId of sessionIds) {
  reader.send(JSON.stringify({ op: 'subscribe', sub: sessionId, sessionId }))
}
while (caughtUp < count) await sleep(10)

const append = (n: number): Promise<void> =>
  new Promise((resolve) => {
    const eventId = newId('evt')
    waiting.set(eventId, resolve)
    sentAt.set(eventId, performance.now())
    const events = [{ type: 'session.renamed', eventId, data: payload }]
    const sessionId = sessionIds[n % count]
    writer.send(JSON.stringify({ op: 'append', ref: eventId, sessionId, events }))
  })

/** What is late catches up, so that the rate stays; and a delay begins when its append is sent. */
const delays = async (milliseconds: number, once: (n: number) => Promise<void>) => {
  const begins = performance.now()
  const under: Promise<number>[] = []
  for (let n = 0; n * everyMs < milliseconds; n += 1) {
    const due = begins + n * everyMs - performance.now()
    if (due > 0) await sleep(due)
    const from = performance.now()
    under.push(once(n).then(() => performance.now() - from))
  }
  const all = await Promise.all(under)
  return { p50: at(all, 0.5), p99: at(all, 0.99) }
}

const at = (list: readonly number[], share: number): number =>
  list.toSorted((a, b) => a - b)[Math.floor(list.length * share)]!

answer('ready', async ({ name, milliseconds }: { name: string; milliseconds: number }) => {
  if (name === 'floor') return delays(milliseconds, floor)
  answered = []
  return { ...(await delays(milliseconds, append)), 'answer p50': at(answered, 0.5) }
})
