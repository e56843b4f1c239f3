import { CreateTicket, TicketReply } from '../../../schema/http/tickets.ts'
import { issueTicket } from '../access/issue-ticket.ts'
import type { RouteDeps } from '../deps.ts'
import { principalOf } from '../plugins/principal.ts'
import type { App } from '../type-provider.ts'

export const addTicketRoutes = (app: App, { pool }: RouteDeps): void => {
  app.post(
    '/v1/tickets',
    {
      config: { scope: 'read', bodyMayBeMissing: true },
      schema: {
        summary: 'A ticket for a socket that a page opens',
        description:
          'A page cannot send a token with a socket. The ticket says who the caller is and what it ' +
          'may do, at any server of the database, once and for 30 seconds.',
        body: CreateTicket,
        response: { 201: TicketReply },
      },
    },
    async (request, reply) => {
      const data = await issueTicket(pool, principalOf(request))
      reply.code(201)
      return { data }
    },
  )
}
