import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../schema/errors.ts'
import type { Authenticate } from '../plugins/principal.ts'

/**
 * Whether who opened a socket or a stream may still have it: a token may have been taken back since.
 * A ticket cannot be asked about again, and who needed none need not be. Throws nothing.
 */
export const stillAllowed = async (
  authenticate: Authenticate | undefined,
  { headers }: Pick<FastifyRequest, 'headers'>,
): Promise<boolean> => {
  if (!authenticate || headers.authorization === undefined) return true
  try {
    const { scopes } = await authenticate({ headers })
    return scopes.has('read')
  } catch (error) {
    // An outage takes nothing away from anybody.
    return !(
      error instanceof Refusal &&
      (error.code === 'unauthorized' || error.code === 'forbidden')
    )
  }
}
