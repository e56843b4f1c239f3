/**
 * How values cross the wire. Everything travels as text; what JavaScript would change (large
 * integers, microseconds, JSON) is refused or stays text.
 */
export const wireTypes = {
  /** int8: a number as long as it is one. */
  int8: {
    to: 20,
    from: [20],
    serialize: String,
    parse: (text: string): number => {
      const value = Number(text)
      if (!Number.isSafeInteger(value)) throw new UnsafeInteger(text)
      return value
    },
  },
  number: { to: 23, from: [21, 23, 26, 700, 701], serialize: String, parse: Number },
  boolean: { to: 16, from: [16], serialize: String, parse: (text: string) => text === 't' },
  /** json and jsonb: text both ways. The driver would stringify a string once more. */
  json: { to: 114, from: [114, 3802], serialize: String, parse: String },
  /** date and timestamp: text both ways. */
  date: { to: 1082, from: [1082, 1114], serialize: String, parse: String },
  timestamptz: {
    to: 1184,
    from: [1184],
    serialize: (value: unknown) => (value instanceof Date ? value.toISOString() : String(value)),
    parse: (text: string) => isoUtc(text),
  },
}

/** An int8 that a double cannot hold. */
export class UnsafeInteger extends RangeError {
  override readonly name = 'UnsafeInteger'

  constructor(text: string) {
    super(`${text} is not a safe integer`)
  }
}

/**
 * `2026-11-30 23:45:01.5+00` as `2026-11-30T23:45:01.500Z`: milliseconds always, microseconds when
 * there are some. The session's time zone is UTC; what has no such form (infinity, BC) stays as it is.
 */
export const isoUtc = (text: string): string => {
  if (!text.endsWith('+00') || text[10] !== ' ') return text
  const fraction = text.slice(20, -3)
  const digits = fraction.length > 3 ? 6 : 3
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(digits, '0')}Z`
}
