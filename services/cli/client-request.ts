import type { Problem } from '../../schema/http/problem.ts'
import { readSettings } from '../settings.ts'

/** The service as the command line talks to it. */
export type ServiceClient = {
  readonly url: string
  /** Gives the JSON of the reply. Throws ServiceUnreachable, ServiceProblem. */
  get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown>
  post(path: string, body: unknown): Promise<unknown>
  /** The bytes of a stream of server-sent events. Throws as `get` does, before the first of them. */
  stream(path: string, query: Query, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
}

type Query = Readonly<Record<string, string | number | undefined>>

/** Nobody answered. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable'
  readonly url: string

  constructor(url: string, cause: unknown) {
    super(`no service answers at ${url}`, { cause })
    this.url = url
  }
}

/** The service refused, and said why. */
export class ServiceProblem extends Error {
  override readonly name = 'ServiceProblem'
  readonly problem: Partial<Problem> & { readonly status: number }

  constructor(problem: Partial<Problem> & { readonly status: number }) {
    super(problem.title ?? `the service answered ${problem.status}`)
    this.problem = problem
  }
}

export type ServiceAddress = { readonly url: string; readonly token: string | undefined }

/** Talks to the service of the settings `STEMMA_URL` and `STEMMA_TOKEN`. */
export const openClient = ({ url, token }: ServiceAddress = readSettings()): ServiceClient => {
  const base = url.replace(/\/+$/, '')
  const bearer = token !== undefined && { authorization: `Bearer ${token}` }

  const problemIn = (response: Response, value: unknown): ServiceProblem => {
    const isProblem = typeof value === 'object' && value !== null && 'code' in value
    const problem: Partial<Problem> = isProblem
      ? (value as Partial<Problem>)
      : { title: `what answers at ${base} is no Stemma service` }
    return new ServiceProblem({ ...problem, status: response.status })
  }

  const request = async (path: string, init: RequestInit): Promise<unknown> => {
    let response: Response
    let text: string
    try {
      response = await fetch(`${base}${path}`, {
        ...init,
        headers: {
          accept: 'application/json',
          ...(init.body !== undefined && { 'content-type': 'application/json' }),
          ...bearer,
        },
      })
      text = await response.text()
    } catch (error) {
      throw new ServiceUnreachable(base, error)
    }
    const value = parse(text)
    if (response.ok && value !== undefined) return value
    throw problemIn(response, value)
  }

  const stream: ServiceClient['stream'] = async (path, query, signal) => {
    const headers = { accept: 'text/event-stream', ...bearer }
    const reach = (error: unknown): never => {
      throw new ServiceUnreachable(base, error)
    }
    const response = await fetch(`${base}${withQuery(path, query)}`, { headers, signal }).catch(
      reach,
    )
    const type = response.headers.get('content-type') ?? ''
    if (response.ok && response.body && type.startsWith('text/event-stream')) return response.body
    throw problemIn(response, parse(await response.text().catch(reach)))
  }

  return {
    url: base,
    get: (path, query = {}, signal) =>
      request(withQuery(path, query), { method: 'GET', signal: signal ?? null }),
    post: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
    stream,
  }
}

const withQuery = (path: string, query: Query): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value))
  }
  return search.size > 0 ? `${path}?${search.toString()}` : path
}

/** undefined for what is no JSON: something else than the service answered. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
