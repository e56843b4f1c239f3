/**
 * A server that appends, as a process of its own: asked for a round, it gives its rate.
 * Arguments: url of the database, writers; each writes to a session of its own.
 */
import { answer } from '../child.ts'
import { appendWith, openStemma } from '../contenders/stemma.ts'

const [url = '', writers = '64'] = process.argv.slice(2)
const { log } = await openStemma(url)
const count = Number(writers)
const { round } = appendWith(log, { writers: count, sessions: count, batch: 1 })

answer('ready', (milliseconds: number) => round(milliseconds))
