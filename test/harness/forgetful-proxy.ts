import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type ForgetfulProxy = AsyncDisposable & {
  readonly url: string
  /** Answers that it has lost. */
  lost(): number
}

/**
 * Stands before a service and loses the first answer to each write: it is carried out, and who sent it
 * sees a broken connection. Writes are told apart by what they say and their `Idempotency-Key`.
 */
export const openForgetfulProxy = async (target: string): Promise<ForgetfulProxy> => {
  const seen = new Set<string>()
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const { method = 'GET', url = '/', headers } = incoming
      const body = await buffer(incoming)
      const answer = await forward(target + url, method, headers, body)
      const key = `${method} ${url} ${String(headers['idempotency-key'])} ${body.toString()}`
      if (method !== 'GET' && !seen.has(key)) {
        seen.add(key)
        incoming.socket.destroy()
        return
      }
      outgoing.writeHead(answer.status, answer.headers).end(answer.body)
    })().catch(() => incoming.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost: () => seen.size,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const forward = (url: string, method: string, headers: IncomingHttpHeaders, body: Buffer) =>
  new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
    const outgoing = request(url, { method, headers }, (answer) => {
      buffer(answer).then(
        (read) =>
          resolve({ status: answer.statusCode ?? 500, headers: answer.headers, body: read }),
        reject,
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
