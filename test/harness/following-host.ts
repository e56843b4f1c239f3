import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runHost } from '../../docs/examples/agent-host/host.ts'
import { openStore, type Send } from '../../docs/examples/agent-host/store.ts'
import { openTools } from '../../docs/examples/agent-host/tools.ts'
import { openDataDir } from './data-dir.ts'
import type { TestApp } from './test-app.ts'

/** The example's host in this process, before a service that listens. */
export type FollowingHost = AsyncDisposable & {
  /** What it has asked the service, each as `GET /work?…`. */
  readonly asked: readonly string[]
  /** How often it has asked for that. */
  times(what: RegExp): number
  /** Resolves when it has said that so often; fails after half a minute. */
  said(what: RegExp, times?: number): Promise<void>
  /** Tells it to leave, and resolves when it has. */
  leave(): Promise<void>
}

/** `before`: what happens when the host asks for something, before it is sent. */
export const startFollowing = async (
  { app }: TestApp,
  options: {
    readonly project?: string
    readonly before?: (what: string) => Promise<unknown>
  } = {},
): Promise<FollowingHost> => {
  const { before, ...project } = options
  const folder = openDataDir()
  writeFileSync(join(folder.path, 'shopping.md'), 'bread')
  const url = app.listeningOrigin
  const asked: string[] = []
  const send: Send = async (to, request) => {
    const what = `${request.method} ${to.slice(`${url}/v1`.length)}`
    asked.push(what)
    await before?.(what)
    return fetch(to, request)
  }
  const said: string[] = []
  const leaving = new AbortController()
  const running = runHost({
    store: openStore(url, send),
    tools: await openTools(folder.path),
    owner: { ownerId: 'host', lifetime: 'process' },
    ...project,
    leaving: leaving.signal,
    say: (text) => void said.push(text),
  })
  let failed: unknown
  running.catch((error: unknown) => (failed = error))
  const leave = async (): Promise<void> => {
    leaving.abort()
    await running
  }
  return {
    asked,
    times: (what) => asked.filter((one) => what.test(one)).length,
    said: async (what, times = 1) => {
      const isSaid = (): boolean => said.filter((one) => what.test(one)).length >= times
      for (let tries = 0; !isSaid(); tries += 1) {
        if (failed !== undefined) throw failed
        if (tries === 600) throw new Error(`it did not say ${what.source}: ${said.join(', ')}`)
        await sleep(50)
      }
    },
    leave,
    [Symbol.asyncDispose]: async () => {
      await leave().catch(() => {})
      folder[Symbol.dispose]()
    },
  }
}
