import { Refusal } from '../../../schema/errors.ts'
import type { Pool } from '../../database/pool.ts'
import type { Settings } from '../../settings.ts'
import type { Authenticate } from '../plugins/principal.ts'
import { checkSocketOrigin } from './origins.ts'
import { redeemTicket } from './redeem-ticket.ts'

/**
 * A browser cannot send a token with the upgrade to a socket: it sends a ticket, as a second
 * subprotocol `ticket.<value>`. Whoever sends none is found out as for any other request.
 */
export const withTickets = (
  { pool, settings }: { pool: Pool; settings: Pick<Settings, 'host' | 'origins' | 'tokensFile'> },
  authenticate: Authenticate,
): Authenticate => {
  return async (request) => {
    const { headers } = request
    const ticket = isSocket(headers.upgrade)
      ? ticketOf(headers['sec-websocket-protocol'])
      : undefined
    if (ticket === undefined) return authenticate(request)
    checkSocketOrigin(headers, settings)
    const principal = await redeemTicket(pool, ticket)
    if (principal) return principal
    throw new Refusal('unauthorized', 'the ticket was used or has expired: ask for another')
  }
}

const isSocket = (upgrade: string | undefined): boolean => upgrade?.toLowerCase() === 'websocket'

const ticketOf = (protocols: string | undefined): string | undefined =>
  protocols
    ?.split(',')
    .map((name) => name.trim())
    .find((name) => name.startsWith('ticket.'))
    ?.slice('ticket.'.length)
