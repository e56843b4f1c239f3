import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type HostedEvent = {
  seq: number
  type: string
  data: Record<string, unknown>
  meta: { turnId?: string; fence?: number }
}
/** What a model would see next. */
type Context = {
  entries: {
    role: string
    callId?: string
    name?: string
    outcome?: string
    parts?: { type: string; callId?: string }[]
  }[]
  leftOut: { reason: string }[]
}
type Session = {
  status: string
  headSeq: number
  turn?: { turnId: string; ownerId: string; fence: number }
  openRequests: string[]
}

/** A session, its project's only one, with a prompt that waits for a host, the folder of its tools, and a person who answers. */
export type HostedSession = AsyncDisposable & {
  readonly sessionId: string
  readonly folder: string
  session(): Promise<Session>
  events(): Promise<HostedEvent[]>
  context(): Promise<Context>
  /** Answers what is asked as soon as it is asked, from here on. */
  answerAll(): void
  /** A supervisor's word that a host has exited; one that never registered is passed over. */
  reportExit(ownerId: string): Promise<void>
  /** Somebody asks the running turn to stop. */
  interrupt(reason: string): Promise<void>
  /** Resolves when the session is so; fails after half a minute. */
  until(is: (session: Session) => boolean): Promise<Session>
  /** What its tools have written. */
  plan(): string
  /** Lines of the ledger, by what they say. */
  ledger(): string[]
}

export const openHostedSession = async (url: string, sessionId: string): Promise<HostedSession> => {
  const folder = mkdtempSync(join(tmpdir(), 'stemma-host-'))
  writeFileSync(join(folder, 'shopping.md'), 'bread')
  const call = async (path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${url}/v1${path}`, {
      ...(body && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    const reply = (await response.json()) as { data: unknown; code?: string }
    if (!response.ok && reply.code !== 'owner_not_found') {
      throw new Error(`${path}: ${JSON.stringify(reply)}`)
    }
    return reply.data
  }
  await call('/sessions', { sessionId, project: sessionId })
  await call(`/sessions/${sessionId}/inputs`, {
    messageId: 'msg_prompt',
    text: 'Plan the shopping',
  })

  const session = async () => (await call(`/sessions/${sessionId}`)) as Session
  const until = async (is: (found: Session) => boolean): Promise<Session> => {
    for (let tries = 0; tries < 300; tries += 1) {
      const found = await session()
      if (is(found)) return found
      await sleep(100)
    }
    throw new Error(`session ${sessionId} did not come so far`)
  }
  const read = (name: string): string => {
    const path = join(folder, name)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
  const closing = new AbortController()
  let answering: Promise<void> | undefined
  return {
    sessionId,
    folder,
    session,
    until,
    events: async () => (await call(`/sessions/${sessionId}/events?limit=500`)) as HostedEvent[],
    context: async () => (await call(`/sessions/${sessionId}/context`)) as Context,
    answerAll: () => {
      answering ??= (async () => {
        while (!closing.signal.aborted) {
          for (const requestId of (await session()).openRequests) {
            await call(`/sessions/${sessionId}/requests/${requestId}/answer`, {
              answers: [['Ada']],
            })
          }
          await sleep(100)
        }
      })()
    },
    reportExit: async (ownerId) => {
      await call(`/owners/${ownerId}/exited`, { incarnation: 1, reason: 'killed' })
    },
    interrupt: async (reason) => {
      const { turn } = await session()
      await call(`/sessions/${sessionId}/turns/${turn?.turnId}/interrupt`, { reason })
    },
    plan: () => read('plan.md'),
    ledger: () =>
      read('ledger.txt')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.replace(/^\S+ /, '')),
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await answering
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
