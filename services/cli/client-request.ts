import type { Problem } from '../../schema/http/problem.ts'
import { readSettings } from '../settings.ts'

/** The service as the command line talks to it. */
export type ServiceClient = {
  readonly url: string
  /** Gives the JSON of the reply. Throws ServiceUnreachable, ServiceProblem. */
  get(path: string, query?: Readonly<Record<string, string | number | undefined>>): Promise<unknown>
  post(path: string, body: unknown): Promise<unknown>
}

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
  const request = async (path: string, init: RequestInit): Promise<unknown> => {
    let response: Response
    let text: string
    try {
      response = await fetch(`${base}${path}`, {
        ...init,
        headers: {
          accept: 'application/json',
          ...(init.body !== undefined && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      })
      text = await response.text()
    } catch (error) {
      throw new ServiceUnreachable(base, error)
    }
    const value = parse(text)
    if (response.ok && value !== undefined) return value
    const isProblem = typeof value === 'object' && value !== null && 'code' in value
    const problem: Partial<Problem> = isProblem
      ? (value as Partial<Problem>)
      : { title: `what answers at ${base} is no Stemma service` }
    throw new ServiceProblem({ ...problem, status: response.status })
  }
  return {
    url: base,
    get: (path, query = {}) => {
      const search = new URLSearchParams()
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) search.set(name, String(value))
      }
      return request(search.size > 0 ? `${path}?${search.toString()}` : path, { method: 'GET' })
    },
    post: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
  }
}

/** undefined for what is no JSON: something else than the service answered. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
