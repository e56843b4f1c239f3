import { canonicalJson } from './canonical.ts'

/**
 * The JSON Pointer of the first place at which two values differ, whatever the order of their
 * members; undefined if they are the same JSON. What is there and what is not is not said: it may be
 * a payload.
 */
export const firstDifference = (a: unknown, b: unknown): string | undefined => {
  if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted()
    for (const key of keys) {
      if (Object.hasOwn(a, key) !== Object.hasOwn(b, key)) return pointer(key)
      const below = firstDifference(a[key], b[key])
      if (below !== undefined) return pointer(key) + below
    }
    return undefined
  }
  return canonicalJson(a) === canonicalJson(b) ? undefined : ''
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const pointer = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
