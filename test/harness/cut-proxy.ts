import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMessageReader, createSqlReader, type FrontendMessage } from './frontend-messages.ts'

/** What happens to the connection whose request the rule is for. */
export type CutRule = {
  /**
   * `before the request`: the server never gets it. `after the request`: the server has it, and its
   * answer is held back. `inside the reply`: a part of the answer has come through.
   */
  readonly at: 'before the request' | 'after the request' | 'inside the reply'
  /** The SQL of the request, simple or prepared. */
  readonly matching: RegExp
  /** So many matching requests pass unharmed first. */
  readonly skip?: number
  /** `stall`: from then on nothing passes in either direction, and nobody is told. */
  readonly action?: 'cut' | 'stall'
  /** How long after the point; for cuts while the server waits for a lock. */
  readonly afterMs?: number
}

/** Stands between a pool and PostgreSQL, and takes the line away where a test says. */
export type CutProxy = AsyncDisposable & {
  readonly port: number
  /** The database's url, led through the proxy. */
  url(database: string): string
  /** Arms the rule for one connection; resolves when it has been carried out. */
  cut(rule: CutRule): Promise<void>
  /** Cuts every connection there is. */
  cutAll(): void
  /** While true, who connects is cut at once. */
  refuse(refusing: boolean): void
  /** Where new connections go from now on; those that are open stay. */
  lead(to: Endpoint): void
  /** Connections that are open now. */
  readonly connections: number
}

type Armed = CutRule & { left: number; done(): void }

export type Endpoint = { readonly host: string; readonly port: number }

/** Where a database's url leads. */
export const endpointOf = (database: string): Endpoint => {
  const { hostname, port } = new URL(database)
  return { host: hostname, port: Number(port) }
}

export const openCutProxy = async (options: { readonly to: Endpoint }): Promise<CutProxy> => {
  const lines = new Set<Line>()
  const rules = new Set<Armed>()
  let { to } = options
  let refusing = false

  const take = (sql: string): Armed | undefined => {
    for (const rule of rules) {
      if (!rule.matching.test(sql)) continue
      rule.left -= 1
      if (rule.left >= 0) continue
      rules.delete(rule)
      return rule
    }
    return undefined
  }

  const listener = createServer((client) => {
    if (refusing) {
      client.destroy()
      return
    }
    const line = join(client, connect(to), take)
    lines.add(line)
    client.on('close', () => lines.delete(line))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const port = typeof address === 'object' && address ? address.port : 0

  return {
    port,
    url: (database) => {
      const url = new URL(database)
      url.host = `127.0.0.1:${port}`
      return url.href
    },
    cut: (rule) => new Promise((done) => rules.add({ ...rule, left: rule.skip ?? 0, done })),
    cutAll: () => {
      for (const line of lines) line.cut()
    },
    refuse: (yes) => {
      refusing = yes
    },
    lead: (there) => {
      to = there
    },
    get connections() {
      return lines.size
    },
    [Symbol.asyncDispose]: async () => {
      for (const line of lines) line.cut()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

type Line = { cut(): void }

/** One client's way to the server and back. */
const join = (client: Socket, server: Socket, take: (sql: string) => Armed | undefined): Line => {
  const readMessages = createMessageReader()
  const readSql = createSqlReader()
  let rule: Armed | undefined
  /** Nothing passes any more. */
  let dead = false
  /** The request of the rule is with the server, so the next bytes back are its answer. */
  let answering = false

  const cut = (): void => {
    dead = true
    client.destroy()
    // What was sent still arrives, and the server does what it says: it learns of the end later.
    server.end()
  }

  const act = async (armed: Armed): Promise<void> => {
    dead = true
    if (armed.afterMs) await sleep(armed.afterMs)
    if (armed.action !== 'stall') cut()
    armed.done()
  }

  const forward = (message: FrontendMessage): void => {
    if (dead) return
    const sql = readSql(message)
    if (sql !== undefined) rule ??= take(sql)
    if (rule?.at === 'before the request') return void act(rule)
    server.write(message.raw)
    const sent = message.type === 'Q' || message.type === 'S'
    if (rule && sent) {
      answering = true
      if (rule.at === 'after the request') void act(rule)
    }
  }

  /** The write's end is awaited: destroying a socket throws away what it has not sent. */
  const cutInside = (armed: Armed, chunk: Buffer): void => {
    dead = true
    client.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => void act(armed))
  }

  client.on('data', (chunk: Buffer) => {
    for (const message of readMessages(chunk)) forward(message)
  })
  server.on('data', (chunk: Buffer) => {
    if (dead) return
    if (rule && answering) cutInside(rule, chunk)
    else client.write(chunk)
  })
  for (const socket of [client, server]) {
    socket.setNoDelay(true)
    socket.on('error', () => {})
  }
  client.on('close', () => server.end())
  server.on('close', () => {
    if (!dead) client.destroy()
  })
  return { cut }
}
