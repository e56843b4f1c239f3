import type { Pool } from '../../services/database/pool.ts'
import type { Target } from '../../services/log/command.ts'
import { openLog } from '../../services/log/open-log.ts'
import { startProjector } from '../../services/projector/start-projector.ts'
import { event } from './rehearsal.ts'
import { foldedTranscript, pagedTranscript } from './transcripts.ts'

/** Writers, readers and a projector, as servers have them. */
export type BusyStore = {
  /** Every session that was written to. */
  readonly targets: readonly Target[]
  /** What is wrong in a page, if one ever was; and what failed. */
  readonly wrong: readonly unknown[]
  /** Stops all of them. Gives how much was written and read. */
  stop(): Promise<{ readonly appended: number; readonly reads: number }>
}

/**
 * Appends without a pause to the sessions and to new ones, and reads them all the while: each page is
 * held against a fold of the whole log.
 */
export const startBusyStore = (pool: Pool, sessions: readonly Target[]): BusyStore => {
  const targets = [...sessions]
  const wrong: unknown[] = []
  let stopped = false
  let appended = 0
  let reads = 0
  const report = (problem: unknown): void => void wrong.push(problem)
  const log = openLog({ pool, report })
  const projector = startProjector({ pool, log, report })
  const pick = (): Target => targets[Math.floor(Math.random() * targets.length)]!

  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !stopped; n += 1) {
      if (n % 200 === 0) {
        const target = { tenant: 1, sessionId: `new_${writer}_${n}` }
        const created = event('session.created', { title: 'new' })
        await log.execute({ ...target, kind: 'create', event: created })
        targets.push(target)
      }
      const messageId = `msg_busy_${writer}_${n}`
      const note = event('note.added', { messageId, role: 'system', text: `note ${n}` })
      await log.execute({ ...pick(), kind: 'append', events: [note] })
      appended += 1
    }
  }

  const read = async (): Promise<void> => {
    for (; !stopped; reads += 1) {
      const target = pick()
      const { messages, asOfSeq } = await pagedTranscript(pool, target)
      const folded = await foldedTranscript(pool, target, asOfSeq)
      if (JSON.stringify(messages) !== JSON.stringify(folded)) {
        wrong.push(`${target.sessionId} as of ${asOfSeq}`)
      }
    }
  }

  const running = Promise.all([...[0, 1, 2].map(write), read()]).catch(report)
  return {
    targets,
    wrong,
    stop: async () => {
      stopped = true
      await running
      await projector[Symbol.asyncDispose]()
      await log[Symbol.asyncDispose]()
      return { appended, reads }
    },
  }
}
