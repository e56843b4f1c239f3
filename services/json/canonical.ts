/**
 * JSON text by which contents are compared: members sorted by UTF-16 code unit, no blanks. Two
 * values have the same text exactly if they are the same JSON, whatever the order of their members.
 */
export const canonicalJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.keys(value)
    .filter((key) => (value as Record<string, unknown>)[key] !== undefined)
    .toSorted()
    .map(
      (key) => `${JSON.stringify(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`,
    )
  return `{${members.join(',')}}`
}
