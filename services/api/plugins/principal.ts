import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../schema/errors.ts'
import type { App } from '../type-provider.ts'

export type Scope = 'read' | 'append' | 'answer' | 'import' | 'admin'

/** Who asks: the tenant, by the number of its row, and what may be done in it. */
export type Principal = {
  readonly tenant: number
  readonly subject: string
  readonly scopes: ReadonlySet<Scope>
}

/** Finds out who asks. Throws Refusal `unauthorized`. */
export type Authenticate = (request: Pick<FastifyRequest, 'headers'>) => Promise<Principal>

/** On loopback without tokens, everybody is `local`, with every scope but `admin`. */
export const loopbackPrincipal = (defaultTenant: () => Promise<number>): Authenticate => {
  const scopes: ReadonlySet<Scope> = new Set(['read', 'append', 'answer', 'import'])
  return async ({ headers }) => {
    refuseForeignPages(headers)
    return { tenant: await defaultTenant(), subject: 'local', scopes }
  }
}

/**
 * Whoever runs a browser on this machine visits pages of others, and those can send requests here.
 * A page names itself in Origin, and its server in Host if its name was bent to our address.
 */
const refuseForeignPages = (headers: FastifyRequest['headers']): void => {
  const { host, origin } = headers
  if (host !== undefined && !isLoopback(hostnameOf(`http://${host}`))) {
    throw new Refusal('forbidden', 'Host does not name this machine')
  }
  if (origin !== undefined && !isLoopback(hostnameOf(origin))) {
    throw new Refusal('forbidden', 'the page that sent this request is not of this machine')
  }
}

const hostnameOf = (url: string): string => URL.parse(url)?.hostname ?? ''

/** Whether only this machine can reach the address. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  hostname === '::1' ||
  /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)

const principals = new WeakMap<object, Principal>()

/** Finds out who asks before anything of the request is read, and whether the route is theirs. */
export const addPrincipal = (app: App, authenticate: Authenticate): void => {
  app.addHook('onRequest', async (request) => {
    const { scope } = request.routeOptions.config
    if (scope === undefined) return
    const principal = await authenticate(request)
    if (!principal.scopes.has(scope)) {
      throw new Refusal('forbidden', `this takes the scope ${scope}`)
    }
    principals.set(request.raw, principal)
  })
}

/** Who sent the request; only for routes that take a scope. */
export const principalOf = (request: { readonly raw: object }): Principal => {
  const principal = principals.get(request.raw)
  if (!principal) throw new Error('the route takes no scope, so nobody was asked for')
  return principal
}
