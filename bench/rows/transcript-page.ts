import { projectTranscript } from '../../services/projector/project-transcript.ts'
import { openPool, type Pool } from '../../services/database/pool.ts'
import type { Act } from '../../services/log/command.ts'
import { readSession } from '../../services/log/load-session.ts'
import type { Log } from '../../services/log/open-log.ts'
import { readMessages } from '../../services/reads/read-messages.ts'
import { event, model, prompt, startTurn, stepEnded } from '../../test/harness/rehearsal.ts'
import type { Bench, Contender } from '../bench.ts'
import { openStemma } from '../contenders/stemma.ts'
import { payload } from '../payload.ts'
import { timed } from '../timed.ts'

const limit = 50

/** The newest page of a long session and of a short one: as many rows of the same kinds. */
export const transcriptPageRow: Bench = {
  name: 'page',
  about: 'transcript page of 50, of a session of 100,000 events (--long-session) and of 100',
  open: async (world) => {
    const url = await world.database('migrated')
    const pool = openPool({ url, max: 4, applicationName: 'stemma-bench' })
    {
      await using stemma = await openStemma(url)
      await build(stemma.log, 'short', 100)
      await build(stemma.log, 'long', world.options.longSession)
    }
    for (const sessionId of ['short', 'long']) await project(pool, sessionId)
    // As the server would by itself within minutes.
    await pool.use((connection) => connection.query('vacuum analyze'))
    return {
      contenders: [pageOf(pool, 'short'), pageOf(pool, 'long')],
      claims: [{ ours: 'long', against: 'short', must: 1 / 1.5 }],
      [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
    }
  },
}

const pageOf = (pool: Pool, sessionId: string): Contender => ({
  name: sessionId,
  round: (milliseconds) =>
    timed(1, milliseconds, () => async () => {
      const page = await readMessages(pool, { tenant: 1, sessionId }, { limit, order: 'desc' })
      if (page.data.length !== limit) throw new Error(`a page of ${page.data.length}`)
      return 1
    }),
})

/** Ten events and five rows: a turn with a prompt and an answer, and three notes. */
const chapter = (n: number): readonly Act[] => {
  const turnId = `trn_${n}`
  const messageId = `msg_${n}`
  const held = { turnId, fence: n }
  const note = (name: string) =>
    event('note.added', { messageId: `${name}_${n}`, role: 'system', text: 'note' })
  return [
    { kind: 'admit', event: prompt(`prompt_${n}`) },
    { ...startTurn(turnId, [`prompt_${n}`]), eventId: `evt_turn_${n}` } as Act,
    {
      kind: 'append',
      ...held,
      events: [
        event('step.started', { messageId, attempt: 1, agent: 'build', model }),
        event('text.ended', { messageId, partId: 't', text: payload.title }),
        stepEnded('stop', messageId),
        event('turn.ended', { turnId, outcome: 'completed', fence: n }),
      ],
    },
    { kind: 'append', events: [note('a'), note('b'), note('c')] },
  ]
}

/** Through the log; commands that wait together go out together. */
const build = async (log: Log, sessionId: string, events: number): Promise<void> => {
  const target = { tenant: 1, sessionId }
  await log.execute({ ...target, kind: 'create', event: event('session.created', {}) })
  const together = 100
  for (let from = 1; from <= events / 10; from += together) {
    const through = Math.min(from + together - 1, events / 10)
    const acts = Array.from({ length: through - from + 1 }, (_, n) => chapter(from + n)).flat()
    await Promise.all(acts.map((act) => log.execute({ ...target, ...act })))
  }
}

const project = async (pool: Pool, sessionId: string): Promise<void> => {
  const session = await pool.use((c) => readSession(c, { tenant: 1, sessionId }))
  for (let done = false; !done;) {
    const projected = await projectTranscript(pool, session!.sid)
    if (projected.stalled) throw new Error(`stalled: ${projected.stalled.code}`)
    done = projected.done
  }
}
