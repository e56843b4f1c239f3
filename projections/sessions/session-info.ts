import type { EventData } from '../../schema/events/event-table.ts'
import type { Tokens } from '../../schema/events/shapes.ts'

/** Grows when the folds of the lists (sessions, turns, requests, waiting) give other rows for the same events. */
export const sessionsVersion = 2

type Created = EventData<'session.created'>

/** What a list says of a session, beside what is open in it. */
export type SessionInfo = {
  readonly title?: string
  readonly agent?: string
  readonly model?: Created['model']
  readonly location?: Created['location']
  readonly project?: string
  readonly parent?: Created['parent']
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly origin?: Created['origin']
  readonly forkedFrom?: { readonly sessionId: string; readonly asOfSeq: number }
  readonly createdAt: string
  readonly updatedAt: string
  readonly viewedAt?: string
  readonly archived?: true
  readonly deleted?: true
  readonly usage: Usage
  /** What the step under way has cost so far; counted when it ends. */
  readonly streamed?: Partial<Usage>
}

export type Usage = { readonly cost: number; readonly tokens: Tokens }

export const noUsage: Usage = {
  cost: 0,
  tokens: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
}
