import { createInterface } from 'node:readline'

/**
 * An agent server of the smallest kind, as a process: registers with a lease, keeps it by heartbeats,
 * and sends what it reads from its input: a line is `{method, path, body}`, and is answered by a line
 * `{status, body}`. Parameters: where the server is, the owner's id, the lease in ms.
 */
const [url, ownerId, ttl] = process.argv.slice(2)
const ttlMs = Number(ttl)

const send = async (method: string, path: string, body?: unknown): Promise<object> => {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

const registered = (await send('POST', '/v1/owners', { ownerId, lifetime: 'lease', ttlMs })) as {
  body: { data: { incarnation: number } }
}
const { incarnation } = registered.body.data
setInterval(() => {
  send('PUT', `/v1/owners/${ownerId}/heartbeat`, { incarnation }).catch(() => {})
}, ttlMs / 4)
process.stdout.write(`${JSON.stringify({ incarnation })}\n`)

for await (const line of createInterface({ input: process.stdin })) {
  const { method, path, body } = JSON.parse(line) as { method: string; path: string; body: unknown }
  process.stdout.write(`${JSON.stringify(await send(method, path, body))}\n`)
}
process.exit()
