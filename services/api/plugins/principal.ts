import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../schema/errors.ts'
import type { App } from '../type-provider.ts'

/** What a caller may be allowed to do; none includes another. */
export const allScopes = ['read', 'append', 'answer', 'import', 'admin'] as const
export type Scope = (typeof allScopes)[number]

/** Who asks: the tenant, by the number of its row, and what may be done in it. */
export type Principal = {
  readonly tenant: number
  readonly subject: string
  readonly scopes: ReadonlySet<Scope>
}

/** Finds out who asks. Throws Refusal `unauthorized`. */
export type Authenticate = (request: Pick<FastifyRequest, 'headers'>) => Promise<Principal>

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
      throw new Refusal('forbidden', `this takes the scope ${scope}`, { members: { scope } })
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
