import { fold } from '../../projections/transcript/fold.ts'
import { toMessage } from '../../projections/transcript/to-message.ts'
import { emptyView } from '../../projections/transcript/view.ts'
import type { Pool } from '../../services/database/pool.ts'
import type { Target } from '../../services/log/command.ts'
import { readSession } from '../../services/log/load-session.ts'
import { openLog } from '../../services/log/open-log.ts'
import { readEvents, storedEvent } from '../../services/log/read-events.ts'
import { readMessages } from '../../services/reads/read-messages.ts'
import { randomSession } from './random-session.ts'
import { seeded } from './seeded.ts'

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The transcript as one fold of the log up to a seq gives it, without any kept rows. */
export const foldedTranscript = async (
  pool: Pool,
  target: Target,
  throughSeq: number,
): Promise<unknown> => {
  const session = await pool.use((connection) => readSession(connection, target))
  const view = emptyView()
  for (let seq = 0; seq < throughSeq;) {
    const range = { afterSeq: seq, throughSeq, limit: 1_000 }
    const rows = await pool.use((connection) => readEvents(connection, session!.sid, range))
    for (const row of rows) fold(view, storedEvent(row))
    seq = rows.at(-1)!.seq
  }
  const parts = Map.groupBy(view.parts.values(), ({ messageId }) => messageId)
  return json(
    [...view.messages.values()]
      .filter(({ place }) => place !== null)
      .toSorted((a, b) => a.place! - b.place!)
      .map((row) => toMessage(target.sessionId, row, parts.get(row.messageId) ?? [])),
  )
}

/** The transcript as pages give it, and the seq it is of: that of the first page. */
export const pagedTranscript = async (
  pool: Pool,
  target: Target,
): Promise<{ readonly messages: unknown; readonly asOfSeq: number }> => {
  const query = { limit: 100, order: 'asc' } as const
  let page = await readMessages(pool, target, query)
  const { asOfSeq } = page
  const messages = [...page.data]
  while (page.next !== undefined) {
    page = await readMessages(pool, target, { ...query, after: page.next, atSeq: asOfSeq })
    messages.push(...page.data)
  }
  return { messages: json(messages), asOfSeq }
}

/** Sessions `<prefix>_0` … of random hosts, of so many turns each. */
export const playSessions = async (
  pool: Pool,
  options: { readonly count: number; readonly turns: number; readonly prefix?: string },
): Promise<Target[]> => {
  const { count, turns, prefix = 'ses' } = options
  const log = openLog({ pool, report: () => {} })
  const targets = Array.from({ length: count }, (_, n) => ({
    tenant: 1,
    sessionId: `${prefix}_${n}`,
  }))
  await Promise.all(
    targets.map(async (target, n) => {
      for (const act of randomSession(seeded(n + 1), turns).acts) {
        await log.execute({ ...target, ...act })
      }
    }),
  )
  await log[Symbol.asyncDispose]()
  return targets
}
