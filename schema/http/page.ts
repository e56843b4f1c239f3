import { Type, type TProperties } from 'typebox'

/** Entries of a page. The default and the maximum are settings: 50 and 500. */
export const Limit = Type.Integer({
  minimum: 1,
  description: 'entries of the page: 50 by default, 500 at most',
})

export const Cursor = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'from `cursor` of an earlier page of the same list with the same filters',
})

/** Which log a seq is of, as a stream says it. */
export const Log = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'the `log` of the last `caughtUp`: another one is a reset',
})

/** Where to go on; null where there is nothing in that direction. */
export const PageCursor = reply({
  next: Type.Union([Type.String(), Type.Null()]),
  previous: Type.Union([Type.String(), Type.Null()]),
})

export const AsOfSeq = Type.Integer({
  minimum: 0,
  description: 'the seq of the session that the reply is of',
})

/** An object of a reply: it may grow. */
export function reply<P extends TProperties>(properties: P) {
  return Type.Object(properties)
}

/** What most replies are: the thing asked for under `data`. */
export const dataOf = <P extends TProperties[string]>(data: P) => reply({ data })
