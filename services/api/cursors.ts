import { createHash } from 'node:crypto'
import { Refusal } from '../../schema/errors.ts'

/** What a cursor belongs to: it is of no use for another list, session or filter. */
export type CursorScope = {
  readonly route: string
  readonly tenant: number
  readonly sessionId?: string
  readonly filters: Readonly<Record<string, string | number | undefined>>
}

type Place = readonly (string | number)[]

const checksumBytes = 8

/** A place in a list as text that says nothing to the outside, and fits no other list. */
export const encodeCursor = (scope: CursorScope, place: Place): string => {
  const text = JSON.stringify(place)
  return Buffer.concat([checksum(scope, text), Buffer.from(text)]).toString('base64url')
}

/** The place that was encoded under the same scope. Throws Refusal `invalid_cursor`. */
export const decodeCursor = (scope: CursorScope, cursor: string): Place => {
  const bytes = Buffer.from(cursor, 'base64url')
  const text = bytes.subarray(checksumBytes).toString()
  const own = checksum(scope, text)
  if (bytes.toString('base64url') !== cursor || !own.equals(bytes.subarray(0, checksumBytes))) {
    throw invalidCursor('the cursor was not issued for this list with these filters')
  }
  return JSON.parse(text) as Place
}

export const invalidCursor = (
  detail: string,
  members: Readonly<Record<string, unknown>> = {},
): Refusal => new Refusal('invalid_cursor', detail, { members })

const checksum = ({ route, tenant, sessionId, filters }: CursorScope, text: string): Buffer => {
  const set = Object.entries(filters).filter(([, value]) => value !== undefined)
  const scope = [route, tenant, sessionId ?? null, set.toSorted(([a], [b]) => (a < b ? -1 : 1))]
  const digest = createHash('sha256')
    .update(`${JSON.stringify(scope)}\n${text}`)
    .digest()
  return digest.subarray(0, checksumBytes)
}
