/** No JSON text, id, type, timestamp or cleaned plain text holds it (docs/decisions/0002). */
export const separator = '\u001e'

/** A list of texts as one parameter, for `string_to_array($n, chr(30))`. */
export const textList = (list: readonly string[]): string => list.join(separator)

/** A list of numbers as an array literal, for `$n::text::bigint[]`. */
export const numberList = (list: readonly (number | null)[]): string =>
  `{${list.map((n) => n ?? 'null').join(',')}}`

/** A list of booleans as an array literal, for `$n::text::boolean[]`. */
export const booleanList = (list: readonly boolean[]): string =>
  `{${list.map((b) => (b ? 't' : 'f')).join(',')}}`
