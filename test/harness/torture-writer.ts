/**
 * A process that appends as badly as it may: transactions that stay open for a while, some rolled
 * back, in random sessions. Started by the torture test, which also kills it.
 * Arguments: url of the database, writers, prefix of session ids.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from '../../services/database/connection.ts'
import { openPool } from '../../services/database/pool.ts'
import { callAppend } from '../../services/log/append-call.ts'
import { newId } from '../../services/log/new-id.ts'
import { emptyState } from '../../services/log/session-state.ts'

const [url = '', writers = '8', prefix = 'ses'] = process.argv.slice(2)
const pool = openPool({ url, max: Number(writers), applicationName: 'torture' })

const write = async (writer: number): Promise<void> => {
  const sessions = Array.from({ length: 5 }, (_, n) => ({
    sid: 0,
    head: 0,
    id: `${prefix}_${writer}_${n}`,
  }))
  for (;;) {
    const session = sessions[Math.floor(Math.random() * sessions.length)]!
    await pool.use(async (connection) => {
      await connection.query('begin')
      // A transaction id is taken early, as other stores' order by transaction would have it.
      if (Math.random() < 0.3) await connection.query('select pg_current_xact_id()::text')
      const event = {
        seq: session.head + 1,
        eventId: newId('evt'),
        type: 'x.torture',
        version: 1,
        data: {},
        meta: {},
      }
      const append = {
        sid: session.sid,
        tenant: 1,
        sessionId: session.id,
        expected: session.head,
        head: session.head + 1,
        state: emptyState,
        events: [event],
        names: [],
        receipts: [],
        guards: [],
      }
      // By either function of the database, for sessions that are there. The short one gives up
      // where it would wait, for the file to grow as well.
      const wait = Math.random() < 0.5
      const results = await callAppend(connection, [append], { wait }).catch(gaveUp)
      if (!results) {
        await connection.query('rollback')
        return
      }
      const [result] = results
      if (Math.random() < 0.5) await sleep(Math.random() * 12)
      const keep = Math.random() >= 0.1
      await connection.query(keep ? 'commit' : 'rollback')
      if (keep) Object.assign(session, { sid: result!.sid, head: session.head + 1 })
    })
  }
}

const gaveUp = (error: unknown): undefined => {
  if (!(error instanceof DatabaseError) || error.code !== '25P02') throw error
}

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(writer)))
