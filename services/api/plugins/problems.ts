import type { Socket } from 'node:net'
import { Refusal } from '../../../schema/errors.ts'
import type { App } from '../type-provider.ts'
import { problemOf, retryAfter } from './problem-of.ts'

export const problemType = 'application/problem+json'

type Request = {
  readonly method: string
  readonly id: string
  readonly raw: { readonly url?: string | undefined }
}
/** As much of a reply as a problem needs, whatever route it belongs to. */
export type ProblemReply = {
  code(status: number): unknown
  header(name: string, value: string): unknown
  removeHeader(name: string): unknown
  send(payload: string): unknown
}

/** Every refusal is a problem (RFC 9457); what is our fault is reported with the request's id. */
export const addProblems = (app: App, report: (problem: unknown) => void): void => {
  app.setErrorHandler((error, request, reply) => answer(error, request, reply, report))
  app.setNotFoundHandler(() => {
    throw new Refusal('route_not_found', 'there is no such route')
  })
  // Before the body is read: a route that is not there does not find fault with it.
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return
    if (!app.supportedMethods.includes(request.method)) {
      throw new Refusal('method_not_allowed', `no route takes ${request.method}`)
    }
    throw new Refusal('route_not_found', 'there is no such route')
  })
}

/** Answers a request with the problem that its error is. */
export const answer = (
  error: unknown,
  request: Request,
  reply: ProblemReply,
  report: (problem: unknown) => void,
): void => {
  const writes = request.method !== 'GET' && request.method !== 'HEAD'
  const { problem, internal } = problemOf(error, writes)
  if (internal) {
    report(new Error(`${request.method} of request ${request.id} failed`, { cause: error }))
  }
  const seconds = retryAfter(problem)
  if (seconds !== undefined) reply.header('retry-after', String(seconds))
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  // The rest of a body that is too large is read and dropped: if the connection were closed under
  // it, its sender would see a broken pipe and not this answer.
  if (problem.status === 413) reply.removeHeader('connection')
  reply.code(problem.status)
  reply.header('content-type', `${problemType}; charset=utf-8`)
  reply.send(JSON.stringify(problem))
}

/** What is not HTTP never reaches a route; it is answered on the bare socket. */
export const answerUnreadable = (error: { readonly code?: string }, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const detail =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'the headers are larger than 16 KiB'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'the request did not arrive in time'
        : 'this is not HTTP/1.1 as it can be read'
  const { problem } = problemOf(new Refusal('invalid_header', detail), false)
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: ${problemType}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
