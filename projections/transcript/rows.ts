import type { Lineage } from '../../schema/events/shapes.ts'
import type { EventData } from '../../schema/events/event-table.ts'

/**
 * The fold's own version: grows when it gives other rows for the same events. Not to be taken for a
 * generation, which is a number in the tables that a rebuild draws.
 */
export const transcriptFold = 1

/**
 * A message as it is kept. `place` is the seq at which it stands in its session, null for an input
 * that was admitted and not delivered; `lastSeq` is the last event that changed it or a part of it.
 */
export type MessageRow = {
  readonly messageId: string
  readonly place: number | null
  readonly firstSeq: number
  readonly lastSeq: number
  readonly type: MessageType
  readonly data: MessageData
}

export type MessageType =
  | 'user'
  | 'assistant'
  | 'system'
  | 'synthetic'
  | 'shell'
  | 'compaction'
  | 'agent-selected'
  | 'model-selected'

/** What a message's type needs of these; all of it is given out as it stands. */
export type MessageData = {
  readonly createdAt: string
  readonly completedAt?: string
  readonly turnId?: string
  readonly origin?: 'input' | 'answer'
  readonly text?: string
  readonly files?: EventData<'input.admitted'>['files']
  readonly requestId?: string
  readonly answers?: EventData<'request.answered'>['answers']
  readonly decision?: EventData<'request.answered'>['decision']
  readonly action?: string
  readonly message?: string
  readonly content?: unknown
  readonly by?: EventData<'request.answered'>['by']
  readonly agent?: string
  readonly model?: EventData<'step.started'>['model']
  readonly attempt?: number
  readonly finish?: string
  readonly rawFinish?: string
  readonly error?: EventData<'step.failed'>['error']
  readonly cost?: number
  readonly tokens?: EventData<'step.ended'>['tokens']
  readonly providerState?: unknown
  readonly command?: string
  readonly output?: string
  readonly exit?: number
  readonly compactionId?: string
  readonly reason?: string
  readonly status?: 'running' | 'completed' | 'failed'
  readonly summary?: string
  readonly keepFromMessageId?: string
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  /** Parts that have appeared, over all attempts: the next one's index. */
  readonly partCount?: number
  /** What earlier attempts of the step cost. */
  readonly spent?: { readonly cost: number; readonly tokens?: EventData<'step.ended'>['tokens'] }
}

export type PartRow = {
  readonly messageId: string
  readonly attempt: number
  readonly partId: string
  /** Order of first appearance in its message. */
  readonly index: number
  readonly startSeq: number
  readonly endSeq: number | null
  readonly type: 'text' | 'reasoning' | 'tool'
  readonly data: PartData
}

export type PartData = {
  readonly text?: string
  readonly partial?: boolean
  readonly mustStay?: boolean
  readonly excluded?: string
  readonly providerState?: unknown
  readonly name?: string
  readonly input?: unknown
  /** The input as the model wrote it, until the call is recorded. */
  readonly inputText?: string
  readonly effect?: EventData<'tool.called'>['effect']
  readonly effectKey?: string
  readonly executedBy?: EventData<'tool.called'>['executedBy']
  readonly childSessionId?: string
  readonly status?: ToolStatus
  /** What a waiting call goes back to when its request is settled. */
  readonly waitingFrom?: ToolStatus
  readonly requestId?: string
  readonly outcome?: EventData<'tool.settled'>['outcome']
  readonly content?: EventData<'tool.settled'>['content']
  readonly structured?: unknown
  readonly error?: EventData<'tool.settled'>['error']
  readonly resolved?: {
    readonly outcome: string
    readonly content?: unknown
    readonly evidence: unknown
  }
  readonly times?: ToolTimes
}

export type ToolStatus = 'streaming' | 'called' | 'waiting' | 'dispatched' | 'settled'

export type ToolTimes = {
  readonly created: string
  readonly called?: string
  readonly dispatched?: string
  readonly settled?: string
}

/** What the fold must remember beside the rows: small, for it is read with every page. */
export type TranscriptProgress = {
  readonly turnId?: string
  readonly requests?: Readonly<
    Record<string, { readonly messageId: string; readonly callId: string }>
  >
  readonly compactions?: Readonly<Record<string, string>>
  /** Each cut of the transcript: from `seq` on only what the lineage names is shown, and what came after. */
  readonly cuts?: readonly { readonly seq: number; readonly lineage: Lineage }[]
}

export const partKey = (messageId: string, attempt: number, partId: string): string =>
  `${messageId}/${attempt}/${partId}`
