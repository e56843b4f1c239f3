import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { openTestDatabase } from './harness/database.ts'
import { startServer } from './harness/server-process.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const script = /<script type="module">\n([\s\S]*?)<\/script>/.exec(readme)![1]!

const post = async (url: string, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`${url}/v1/sessions${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
}

const rename = (url: string, title: string): Promise<void> =>
  post(url, '/ses_1/events', { events: [{ type: 'session.renamed', data: { title } }] })

t.test(
  "the README's page follows a session over a server that is killed and comes back",
  async (t) => {
    await using database = await openTestDatabase()
    let server = await startServer({ DATABASE_URL: database.url })
    t.teardown(() => server[Symbol.asyncDispose]())
    const { url } = server
    const { host, port } = new URL(url)
    await post(url, '', { sessionId: 'ses_1', title: 'First' })

    let printed = ''
    const sockets: WebSocket[] = []
    let following = true
    runInNewContext(script.replace('127.0.0.1:4600', host), {
      log: { append: (text: string) => (printed += text) },
      setTimeout: (again: () => void) => setTimeout(() => following && again(), 100),
      WebSocket: function open(address: string, protocol: string) {
        const socket = new WebSocket(address, protocol)
        sockets.push(socket)
        return socket
      },
    })
    t.teardown(() => {
      following = false
      for (const socket of sockets) socket.close()
    })
    const until = async (text: string): Promise<void> => {
      for (let tries = 0; !printed.includes(text) && tries < 600; tries += 1) await sleep(50)
    }
    await until('First')
    await rename(url, 'live')
    await until('live')
    await server.end('SIGKILL')
    server = await startServer({ DATABASE_URL: database.url, STEMMA_PORT: port })
    await rename(url, 'after it came back')
    await until('after it came back')
    t.same(printed.trimEnd().split('\n'), [
      '1 session.created {"title":"First"}',
      '2 session.renamed {"title":"live"}',
      '3 session.renamed {"title":"after it came back"}',
    ])
  },
)
