import { isUtf8 } from 'node:buffer'
import { Refusal } from '../../schema/errors.ts'

/** How deep JSON may be nested: the outermost value is level 1. */
export const mostLevels = 512

/**
 * The value of a JSON text, if it survives being kept: what would come back changed is refused with
 * a pointer (numbers whose value changes in a double, -0, duplicate members, more than 512 levels),
 * and so is what is not JSON or not UTF-8. A byte order mark is not JSON.
 * Throws Refusal `invalid_json`.
 */
export const parseStrict = (body: Buffer | string): unknown => {
  if (typeof body !== 'string' && !isUtf8(body)) throw refuse('', 'is not valid UTF-8')
  const text = typeof body === 'string' ? body : body.toString('utf8')
  if (text.charCodeAt(0) === 0xfeff) throw refuse('', 'begins with a byte order mark')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The engine's message quotes the text; the place is all that is passed on.
    const place =
      error instanceof SyntaxError ? /position (\d+)/.exec(error.message)?.[1] : undefined
    throw refuse('', place === undefined ? 'is not JSON' : `is not JSON at character ${place}`)
  }
  scan(text)
  return value
}

const refuse = (pointer: string, detail: string): Refusal =>
  new Refusal('invalid_json', `${pointer === '' ? 'the body' : pointer} ${detail}`, {
    faults: [{ pointer, detail }],
  })

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const comma = 0x2c
const minus = 0x2d

/** A place that is open: an object with the members it has so far, or an array. */
type Level = { keys: Set<string> | undefined; key: string; index: number }

/**
 * Walks text that is known to be JSON, and so only looks for what JSON.parse lets pass. Loops rather
 * than recursion: depth is the caller's choice.
 */
const scan = (text: string): void => {
  const levels: Level[] = []
  let expectKey = false
  const pointer = (): string =>
    levels.map((l) => `/${l.keys ? escapePointer(l.key) : l.index}`).join('')
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code === quote) {
      const end = endOfString(text, i)
      if (expectKey) {
        const level = levels.at(-1)!
        level.key = JSON.parse(text.slice(i, end + 1)) as string
        if (level.keys!.has(level.key)) throw refuse(pointer(), 'is there twice')
        level.keys!.add(level.key)
        expectKey = false
      }
      i = end
    } else if (code === openBrace || code === openBracket) {
      const isObject = code === openBrace
      levels.push({ keys: isObject ? new Set() : undefined, key: '', index: 0 })
      if (levels.length > mostLevels) {
        levels.pop()
        throw refuse(pointer(), `is nested deeper than ${mostLevels} levels`)
      }
      expectKey = isObject
    } else if (code === closeBrace || code === closeBracket) {
      levels.pop()
      expectKey = false
    } else if (code === comma) {
      const level = levels.at(-1)!
      if (level.keys) expectKey = true
      else level.index += 1
    } else if (code === minus || (code >= 0x30 && code <= 0x39)) {
      const end = endOfNumber(text, i)
      const fault = faultOfNumber(text.slice(i, end))
      if (fault) throw refuse(pointer(), fault)
      i = end - 1
    }
  }
}

const endOfString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1)
  while (text.charCodeAt(end - 1) === backslash) {
    let slashes = 1
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1
    if (slashes % 2 === 0) break
    end = text.indexOf('"', end + 1)
  }
  return end
}

const endOfNumber = (text: string, start: number): number => {
  let end = start + 1
  while (end < text.length && numberCharacter[text.charCodeAt(end)]) end += 1
  return end
}

const numberCharacter: readonly boolean[] = Array.from({ length: 128 }, (_, code) =>
  '0123456789+-.eE'.includes(String.fromCharCode(code)),
)

const faultOfNumber = (source: string): string | undefined => {
  // Integers of up to 15 digits are exact.
  if (source.length <= 15 && /^(0|[1-9]\d*|-[1-9]\d*)$/.test(source)) return undefined
  const value = Number(source)
  if (Object.is(value, -0)) return 'is -0, which would come back as 0'
  if (!Number.isFinite(value)) return 'is a number too large to keep'
  return sameNumber(source, String(value))
    ? undefined
    : 'is a number that would come back with another value'
}

const sameNumber = (a: string, b: string): boolean => {
  const x = decimalOf(a)
  const y = decimalOf(b)
  return x.negative === y.negative && x.digits === y.digits && x.exponent === y.exponent
}

/** The number as digits without zeros at either end, times ten to the exponent. */
const decimalOf = (source: string) => {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const digits = all.replace(/0+$/, '')
  return {
    negative: sign === '-' && digits !== '',
    digits,
    exponent: digits === '' ? 0 : Number(power) - fraction.length + (all.length - digits.length),
  }
}

const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
