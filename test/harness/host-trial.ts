import { setTimeout as sleep } from 'node:timers/promises'
import type { Send } from '../../docs/examples/agent-host/store.ts'
import type { Tool, Tools } from '../../docs/examples/agent-host/tools.ts'

/**
 * Stops a host at a point of its run. The points are numbered in order: before each write to the store
 * and while it is under way, before what each tool does and while it is done. (After one act is before
 * the next.) `stopAt`: a number and a signal, such as `7:SIGKILL`; `all` only tells them.
 */
export const openTrial = (stopAt: string | undefined, say: (text: string) => void) => {
  const [at, signal = 'SIGKILL'] = (stopAt ?? '').split(':')
  let passed = 0
  const pass = (what: string): void => {
    passed += 1
    const isStop = passed === Number(at)
    if (isStop || at === 'all') say(`point ${passed} ${what}`)
    if (!isStop) return
    process.kill(process.pid, signal)
    // Nothing more is done until the signal has come.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  }

  const passBoth = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
    pass(`before ${what}`)
    const done = act()
    // How it ends is for who awaits it, later.
    done.catch(() => {})
    // Time enough to be sent, too little as a rule to be answered: in the next turn of the loop `fetch` has
    // sent nothing yet.
    await sleep(1)
    pass(`during ${what}`)
    return done
  }

  const send: Send = (url, request) => {
    if (request.method !== 'POST') return fetch(url, request)
    const what = `${url.replace(/.*\/v1/, '')} ${typesIn(request.body ?? '')}`
    return passBoth(what, () => fetch(url, request))
  }
  const wrap = (name: string, tool: Tool): Tool => ({
    ...tool,
    run: (input, effectKey) => passBoth(name, () => tool.run(input, effectKey)),
  })
  const around = (tools: Tools): Tools =>
    Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, wrap(name, tool)]))

  return { send, around }
}

const typesIn = (body: string): string =>
  [...body.matchAll(/"type":"([a-z]+\.[a-z]+)"/g)].map(([, type]) => type).join(' ')
