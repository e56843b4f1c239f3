import { Type } from 'typebox'
import { strict } from '../events/shapes.ts'
import { dataOf, reply } from './page.ts'

export const CreateTicket = strict({})

export const TicketReply = dataOf(
  reply({
    ticket: Type.String({ description: 'goes as the subprotocol `ticket.<value>`, once' }),
    expiresAt: Type.String({ format: 'date-time' }),
  }),
)
