import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Entry,
  Input,
  Message,
  NewEvent,
  Owner,
  Registration,
  Report,
  StoredEvent,
  Turn,
  Work,
} from './shapes.ts'

/** A refusal of the store. Decide by `code` (docs/errors.md), never by the text. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: string

  constructor(problem: { code: string; detail?: string }) {
    super(`${problem.code}: ${problem.detail ?? ''}`)
    this.code = problem.code
  }
}

export type Send = (url: string, request: RequestInit & { body?: string }) => Promise<Response>

export type Store = ReturnType<typeof openStore>

/** The store's routes that a host needs, each a thin call. `send` is what `fetch` is. */
export const openStore = (url: string, send: Send = fetch) => {
  /**
   * Sends a request until there is a definite answer. When an answer is lost, nobody knows whether the
   * request was carried out: the same one is sent again, with the same event ids or the same key, and
   * the store carries it out once at the most.
   */
  const call = async <T>(
    method: string,
    path: string,
    { body, key, signal }: { body?: object; key?: string; signal?: AbortSignal } = {},
  ): Promise<T> => {
    const request = {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(key && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }
    for (;;) {
      const answer = await tryOnce(send, `${url}/v1${path}`, request)
      if (answer === 'again') await sleep(100, undefined, { ...(signal && { signal }) })
      else if (answer.ok) return answer.body as T
      else throw new Refused(answer.body as { code: string })
    }
  }

  const read = async <T>(path: string): Promise<T> => (await call<{ data: T }>('GET', path)).data

  /** A write that brings no event ids: a key tells it from the next one that says the same. */
  const command = async <T>(path: string, body: object): Promise<T> =>
    (await call<{ data: T }>('POST', path, { body, key: crypto.randomUUID() })).data

  return {
    register: async (registration: Registration): Promise<Owner> => {
      const { ownerId, incarnation } = await command<Owner>('/owners', registration)
      return { ownerId, incarnation }
    },
    heartbeat: ({ ownerId, incarnation }: Owner) =>
      call('PUT', `/owners/${ownerId}/heartbeat`, { body: { incarnation } }),
    leave: ({ ownerId, incarnation }: Owner) =>
      call('DELETE', `/owners/${ownerId}`, { body: { incarnation } }),

    /** All that waits for an owner; with `after`, the cursor of a page before, what has become work since. */
    work: (asked: { project?: string; after?: string }, signal: AbortSignal) => {
      const query = new URLSearchParams({ waitMs: '5000', ...asked }).toString()
      return call<{ data: Work[]; cursor: { next: string } }>('GET', `/work?${query}`, { signal })
    },
    inputs: (sessionId: string) => read<Input[]>(`/sessions/${sessionId}/inputs`),
    start: (sessionId: string, owner: Owner, takes: { inputs: string[]; resumes: string[] }) =>
      command<{ turnId: string; fence: number }>(`/sessions/${sessionId}/turns`, {
        ...owner,
        ...takes,
      }),
    turn: (sessionId: string, turnId: string) =>
      read<{ interrupt?: { reason: string } }>(`/sessions/${sessionId}/turns/${turnId}`),
    claim: (sessionId: string, turnId: string, owner: Owner, fromFence: number) =>
      command<{ turnId: string; fence: number; report: Report }>(
        `/sessions/${sessionId}/turns/${turnId}/claim`,
        { ...owner, fromFence },
      ),

    /**
     * Appends events of a turn, all or none. An id names one act under one fence: sent again it is a
     * duplicate, and the same act of a later owner is another event.
     */
    append: (turn: Turn, ...events: NewEvent[]) => {
      const { sessionId, turnId, fence } = turn
      const named = events.map((event) => {
        turn.written += 1
        return { eventId: `${turnId}.${fence}.${turn.written}`, ...event }
      })
      const body = { turnId, fence, events: named }
      return call('POST', `/sessions/${sessionId}/events`, { body })
    },
    events: (sessionId: string, afterSeq: number) =>
      read<StoredEvent[]>(`/sessions/${sessionId}/events?afterSeq=${afterSeq}&limit=500`),
    message: (sessionId: string, messageId: string) =>
      read<Message>(`/sessions/${sessionId}/messages/${messageId}`),
    /** Newest first. */
    messages: (sessionId: string, cursor?: string) =>
      call<{ data: Message[]; cursor: { next: string | null } }>(
        'GET',
        `/sessions/${sessionId}/messages?order=desc${cursor ? `&cursor=${cursor}` : ''}`,
      ),
    context: async (sessionId: string) =>
      (await read<{ entries: Entry[] }>(`/sessions/${sessionId}/context`)).entries,
  }
}

/** One try: a definite answer, or that the request must be sent again. */
const tryOnce = async (send: Send, url: string, request: Parameters<Send>[1]) => {
  try {
    const signals = [AbortSignal.timeout(10_000), ...(request.signal ? [request.signal] : [])]
    const response = await send(url, { ...request, signal: AbortSignal.any(signals) })
    const text = await response.text()
    // 429: not now. 500 and 503: it failed, or nobody knows.
    if ([429, 500, 503].includes(response.status)) return 'again'
    return { ok: response.ok, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
  } catch {
    return 'again'
  }
}
