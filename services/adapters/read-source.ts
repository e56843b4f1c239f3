import { isUtf8 } from 'node:buffer'
import { Refusal } from '../../schema/errors.ts'
import { parseStrict } from '../json/parse-strict.ts'
import { findJson, type JsonExtent } from './find-json.ts'
import { NotTranslatable } from './translation.ts'

/** A file's JSON value, and what was wrong with the file around it. */
export type SourceFile = { readonly value: unknown; readonly mended: readonly string[] }

/**
 * Reads the bytes of a file that holds one JSON value: UTF-8 or UTF-16, with or without byte order
 * mark, also with status lines of the program that printed it before, and with anything after. A
 * value that is not whole, or would not come back as it went in, is refused.
 * Throws NotTranslatable.
 */
export const readSource = (bytes: Buffer): SourceFile => {
  const { text, mended } = decode(bytes)
  if (text.trim() === '') throw new NotTranslatable('the file is empty')
  const whole = tryParse(text)
  if (whole) return { value: whole.value, mended }

  const { extents, torn } = findJson(text)
  // The session is what most of the file is; a status line may be JSON too.
  const parsed = extents
    .toSorted((a, b) => b.end - b.start - (a.end - a.start))
    .map((extent) => ({ extent, result: tryParse(text.slice(extent.start, extent.end)) }))
    .find(({ result }) => result !== undefined)
  const tornLength = torn === undefined ? 0 : text.length - torn
  if (!parsed?.result || tornLength > parsed.extent.end - parsed.extent.start) {
    throw new NotTranslatable(
      torn === undefined
        ? 'the file holds no JSON'
        : `the file ends inside its JSON, which begins at ${placeOf(text, torn)}`,
    )
  }
  return { value: parsed.result.value, mended: [...mended, ...around(text, parsed.extent)] }
}

const decode = (bytes: Buffer): { text: string; mended: string[] } => {
  const [a, b, c] = bytes
  if (a === 0xef && b === 0xbb && c === 0xbf) {
    return { text: fromUtf8(bytes.subarray(3)), mended: ['a byte order mark was removed'] }
  }
  if (a === 0xff && b === 0xfe) return fromUtf16(bytes.subarray(2), 'le', 'with a byte order mark')
  if (a === 0xfe && b === 0xff) return fromUtf16(bytes.subarray(2), 'be', 'with a byte order mark')
  // JSON begins with an ASCII character: beside it, UTF-16 has a zero.
  if (b === 0 && a !== 0 && a !== undefined)
    return fromUtf16(bytes, 'le', 'without a byte order mark')
  if (a === 0 && b !== 0 && b !== undefined)
    return fromUtf16(bytes, 'be', 'without a byte order mark')
  return { text: fromUtf8(bytes), mended: [] }
}

const fromUtf8 = (bytes: Buffer): string => {
  if (!isUtf8(bytes)) throw new NotTranslatable('the file is neither UTF-8 nor UTF-16')
  return bytes.toString('utf8')
}

const fromUtf16 = (
  bytes: Buffer,
  order: 'le' | 'be',
  mark: string,
): { text: string; mended: string[] } => {
  const even = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)))
  // A lone surrogate stays one: what is in the session comes in as it is.
  const text = (order === 'be' ? even.swap16() : even).toString('utf16le')
  const mended = [`the file was UTF-16 ${mark}`]
  if (bytes.length % 2 === 1) mended.push('half a character at the end of the file was left')
  return { text, mended }
}

/** undefined for what is no JSON. What is JSON and cannot be kept unchanged is refused. */
const tryParse = (text: string): { readonly value: unknown } | undefined => {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  try {
    return { value: parseStrict(text) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const places = error.faults.map(({ pointer, detail }) => `${pointer || '/'} ${detail}`)
    throw new NotTranslatable(`the file cannot be kept unchanged: ${places.join('; ')}`)
  }
}

const around = (text: string, { start, end }: JsonExtent): string[] => {
  const before = text.slice(0, start).trim()
  const after = text.slice(end).trim()
  return [
    ...(before === '' ? [] : [`${linesOf(before)} before the JSON were left`]),
    ...(after === '' ? [] : [`${linesOf(after)} after the JSON were left`]),
  ]
}

const linesOf = (text: string): string => {
  const count = text.split('\n').length
  return `${count} ${count === 1 ? 'line' : 'lines'} (${text.length} characters)`
}

const placeOf = (text: string, at: number): string => `line ${text.slice(0, at).split('\n').length}`
