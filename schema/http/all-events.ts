import { Type } from 'typebox'
import { Envelope } from '../events/envelope.ts'
import { strict } from '../events/shapes.ts'
import { Cursor, Limit, reply } from './page.ts'

export const ListAllEvents = strict({
  after: Type.Optional(Cursor),
  limit: Type.Optional(Limit),
  types: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._:~-]{1,128}(,[A-Za-z0-9._:~-]{1,128}){0,63}$',
      description: 'event types, joined by commas; all by default',
    }),
  ),
})

/** `cursor.next` is always there: it is where to ask again for what comes later. */
export const AllEventsPage = reply({
  data: Type.Array(Envelope),
  cursor: reply({ next: Type.String(), previous: Type.Null() }),
})
