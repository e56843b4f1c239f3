import { deriveId } from '../../log/new-id.ts'

/**
 * The members of an object of the source, taken one by one. What was not taken, or is not of the kind
 * that was asked for, is the rest: so nothing is dropped because nobody thought of it.
 */
export type Members = {
  text(name: string): string | undefined
  /** A text as an id of ours; one outside our alphabet is folded into it, and stays in the rest. */
  id(name: string): string | undefined
  /** A whole number from 0. */
  count(name: string): number | undefined
  /** A number from 0. */
  amount(name: string): number | undefined
  /** Whatever it is. */
  any(name: string): unknown
  /** Whatever it is, without taking it. */
  peek(name: string): unknown
  /** The members of an object within; of nothing, if there is none. */
  within(name: string): Members
  rest(): Readonly<Record<string, unknown>>
}

export const membersOf = (object: Readonly<Record<string, unknown>>): Members => {
  const left = new Map(Object.entries(object))
  const nested = new Map<string, Members>()
  const take = <T>(name: string, is: (value: unknown) => value is T): T | undefined => {
    const value = left.get(name)
    if (!is(value)) return undefined
    left.delete(name)
    return value
  }
  return {
    text: (name) => take(name, isText),
    id: (name) => {
      const value = left.get(name)
      if (!isText(value) || value === '') return undefined
      const id = toId(value)
      if (id === value) left.delete(name)
      return id
    },
    count: (name) => take(name, isCount),
    amount: (name) => take(name, isAmount),
    any: (name) => {
      const value = left.get(name)
      left.delete(name)
      return value
    },
    peek: (name) => left.get(name),
    within: (name) => {
      const known = nested.get(name)
      if (known) return known
      const value = take(name, isRecord)
      const members = membersOf(value ?? {})
      if (value) nested.set(name, members)
      return members
    },
    rest: () => {
      const within = [...nested]
        .map(([name, members]) => [name, members.rest()] as const)
        .filter(([, rest]) => Object.keys(rest).length > 0)
      return Object.fromEntries([...left, ...within])
    },
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isText = (value: unknown): value is string => typeof value === 'string'

const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0

const isCount = (value: unknown): value is number => isAmount(value) && Number.isSafeInteger(value)

/** An id as it is, if it is one of ours; else one that follows from it and can still be recognised. */
export const toId = (text: string): string =>
  /^[A-Za-z0-9._:~-]{1,128}$/.test(text)
    ? text
    : `${text.replaceAll(/[^A-Za-z0-9._:~-]/g, '-').slice(0, 96)}~${deriveId('evt', text).slice(-12)}`
