import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../schema/errors.ts'
import type { Authenticate, Principal } from '../plugins/principal.ts'

/**
 * Whether who opened a socket or a stream may still do all that it could then: a token may have been
 * taken back since, or a part of what it carries.
 * A ticket cannot be asked about again, and who needed none need not be. Throws nothing.
 */
export const stillAllowed = async (
  authenticate: Authenticate | undefined,
  { headers }: Pick<FastifyRequest, 'headers'>,
  opened: Principal,
): Promise<boolean> => {
  if (!authenticate || headers.authorization === undefined) return true
  try {
    const { tenant, scopes } = await authenticate({ headers })
    return tenant === opened.tenant && [...opened.scopes].every((scope) => scopes.has(scope))
  } catch (error) {
    // An outage takes nothing away from anybody.
    return !(
      error instanceof Refusal &&
      (error.code === 'unauthorized' || error.code === 'forbidden')
    )
  }
}
