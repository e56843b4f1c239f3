/** A session as OpenCode's `/api/session` routes give it: the record, and its durable events. */
export type OpencodeSource = {
  readonly session: OpencodeSession
  readonly history: readonly OpencodeEvent[]
  readonly [member: string]: unknown
}

export type OpencodeSession = {
  readonly id: string
  readonly projectID?: string
  readonly title?: string
  readonly parentID?: string
  readonly location?: { readonly directory?: string }
  readonly time?: { readonly created?: number; readonly updated?: number }
  readonly [member: string]: unknown
}

export type OpencodeEvent = {
  readonly id: string
  readonly type: string
  readonly durable?: {
    readonly aggregateID?: string
    readonly seq?: number
    readonly version?: number
  }
  readonly data: Readonly<Record<string, unknown>> & {
    readonly timestamp?: number
    readonly sessionID?: string
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether this is such a session: told by its record and the types of its events. */
export const isOpencodeV2 = (source: unknown): source is OpencodeSource =>
  isRecord(source) &&
  isRecord(source['session']) &&
  typeof source['session']['id'] === 'string' &&
  Array.isArray(source['history']) &&
  source['history'].every(
    (event: unknown) =>
      isRecord(event) &&
      typeof event['id'] === 'string' &&
      typeof event['type'] === 'string' &&
      isRecord(event['data']),
  ) &&
  source['history'].some((event: OpencodeEvent) => event.type.startsWith('session.next.'))

export const eventPrefix = 'session.next.'
