/** `process`: alive until a supervisor reports its end; `lease`: as long as heartbeats come. */
export type Registration = { ownerId: string; lifetime: 'lease' | 'process'; ttlMs?: number }

/** This host, as the store knows it. */
export type Owner = { readonly ownerId: string; readonly incarnation: number }

/** A turn that this host holds, until another one claims it: the fence goes with every append. */
export type Turn = {
  readonly sessionId: string
  readonly turnId: string
  readonly fence: number
  /** Events written under this fence: their ids count on from here. */
  written: number
}

export type NewEvent = { eventId?: string; type: string; data: Record<string, unknown> }
export type StoredEvent = { seq: number; type: string; data: Record<string, unknown> }

export type Content = { type: 'text'; text: string }[]

/** What of a message this host looks at. */
export type Message = {
  messageId: string
  seq: number
  type: string
  turnId?: string
  parts?: Part[]
}
export type Part = {
  type: 'text' | 'reasoning' | 'tool'
  partId: string
  name?: string
  input?: Record<string, string>
  effectKey?: string
  status?: 'streaming' | 'called' | 'waiting' | 'dispatched' | 'settled'
  outcome?: string
  resolved?: { outcome: string }
}

/** What a model is given: an assistant message, then the results of its calls, then what came later. */
export type Entry = {
  role: string
  text?: string
  name?: string
  outcome?: string
  content?: Content
}

/** What a claim says of the turn it took over. */
export type Report = {
  step?: { messageId: string; now: 'open' | 'failed'; finish?: string }
  calls: { messageId: string; callId: string; was: string; now: string }[]
  interrupted?: true
}

/** What waits for an owner, in a session where no turn is active, or a turn that nobody holds any more. */
export type Work = { sessionId: string } & (
  | { kind: 'input'; messageId: string }
  | { kind: 'answer'; requestId: string }
  | { kind: 'turn'; turnId: string; fromFence: number }
)
export type Input = { messageId: string; kind: string }
