import { Refusal } from '../../../schema/errors.ts'
import type { Pool } from '../../database/pool.ts'
import { resolveTenant } from '../../log/resolve-tenant.ts'
import type { Settings } from '../../settings.ts'
import { isLoopback, type Authenticate, type Scope } from '../plugins/principal.ts'
import type { Tokens } from './open-tokens.ts'
import { checkOrigin } from './origins.ts'

type Access = {
  readonly pool: Pool
  readonly settings: Pick<Settings, 'host' | 'origins' | 'tokensFile'>
}

/**
 * On loopback without tokens, everybody is `local`, with every scope but `admin`. Throws where the
 * settings say otherwise: nobody is to be let in because a server was put together wrongly.
 */
export const loopbackPrincipal = ({ pool, settings }: Access): Authenticate => {
  if (settings.tokensFile !== undefined || !isLoopback(settings.host)) {
    throw new Error('callers are local only on loopback and without tokens')
  }
  const scopes: ReadonlySet<Scope> = new Set(['read', 'append', 'answer', 'import'])
  return async ({ headers }) => {
    checkOrigin(headers, settings)
    return { tenant: await resolveTenant(pool, 'default'), subject: 'local', scopes }
  }
}

/** Who asks is who the token in `Authorization: Bearer …` belongs to (RFC 6750). */
export const tokenPrincipal = ({
  pool,
  settings,
  tokens,
}: Access & { readonly tokens: Pick<Tokens, 'find'> }): Authenticate => {
  return async ({ headers }) => {
    checkOrigin(headers, settings)
    const token = bearer.exec(headers.authorization ?? '')?.[1]
    if (token === undefined) {
      throw new Refusal('unauthorized', 'this takes a token, in Authorization: Bearer …')
    }
    const entry = tokens.find(token)
    if (!entry) throw new Refusal('unauthorized', 'the token is not one that this server takes')
    return {
      tenant: await resolveTenant(pool, entry.tenant),
      subject: entry.subject,
      scopes: new Set(entry.scopes),
    }
  }
}

const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i
