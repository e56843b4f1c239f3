import { Refusal } from '../../schema/errors.ts'
import { foreignType, isKnownType } from '../../schema/events/event-table.ts'
import { decodeCursor, encodeCursor, invalidCursor, type CursorScope } from './cursors.ts'

/** A place in the order of all events, as one tenant follows it with one filter. */
export type AllCursors = {
  readonly encode: (log: string, position: number) => string
  /** Throws Refusal `invalid_cursor`. `log` is the one that the position is of. */
  readonly decode: (cursor: string) => { readonly log: string; readonly position: number }
  /** The same, refused with `reset: true` if it is of another log than this one. */
  readonly positionIn: (log: string, cursor: string | undefined) => number
}

export const allCursors = (tenant: number, types: readonly string[] | undefined): AllCursors => {
  const scope: CursorScope = {
    route: 'GET /v1/events',
    tenant,
    filters: { types: types?.join(',') },
  }
  const decode: AllCursors['decode'] = (cursor) => {
    const [log, position] = decodeCursor(scope, cursor)
    return { log: String(log), position: Number(position) }
  }
  return {
    encode: (log, position) => encodeCursor(scope, [log, position]),
    decode,
    positionIn: (log, cursor) => {
      if (cursor === undefined) return 0
      const place = decode(cursor)
      if (place.log === log) return place.position
      throw invalidCursor('the cursor belongs to another log than this one', { reset: true })
    },
  }
}

/** Types as a filter: known ones, each once, in one order. Throws Refusal `unknown_type`. */
export const typesFilter = (given: readonly string[]): readonly string[] => {
  const types = [...new Set(given)].toSorted()
  const unknown = types.find((type) => !isKnownType(type) && !foreignType.test(type))
  if (unknown === undefined) return types
  throw new Refusal('unknown_type', `there are no events of type ${unknown}`, {
    faults: [{ pointer: '/types', detail: `${unknown} is not known` }],
  })
}
