import type { Send } from '../../docs/examples/agent-host/store.ts'
import type { Tool, Tools } from '../../docs/examples/agent-host/tools.ts'

/**
 * Stops a host at a point of its run. The points are numbered in order: before each write to the store
 * and after its answer, and before and after what each tool does. `stopAt`: a number and a signal, such
 * as `7:SIGKILL`; `all` only tells them.
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

  const send: Send = async (url, request) => {
    const isPoint = request.method === 'POST'
    const what = `${url.replace(/.*\/v1/, '')} ${typesIn(request.body ?? '')}`
    if (isPoint) pass(`before ${what}`)
    const response = await fetch(url, request)
    if (isPoint) pass(`after ${what}`)
    return response
  }

  const wrap = (name: string, tool: Tool): Tool => ({
    ...tool,
    run: async (input, effectKey) => {
      pass(`before ${name}`)
      const text = await tool.run(input, effectKey)
      pass(`after ${name}`)
      return text
    },
  })
  const around = (tools: Tools): Tools =>
    Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, wrap(name, tool)]))

  return { send, around }
}

const typesIn = (body: string): string =>
  [...body.matchAll(/"type":"([a-z]+\.[a-z]+)"/g)].map(([, type]) => type).join(' ')
