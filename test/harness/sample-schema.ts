type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly pattern?: string
  readonly minimum?: number
}

/** Values that are JSON of every kind, and those that have been trouble somewhere. */
const anyJson: readonly string[] = [
  'null',
  'true',
  '0',
  '-1',
  '0.1',
  '1e300',
  '9007199254740991',
  '""',
  '"x"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\u001e"',
  '"%s\'--"',
  '[]',
  '{}',
  '[[[[]]]]',
  '{"__proto__":{"a":1},"constructor":null,"toString":1}',
  '{"a":{"b":{"c":[1,2,{"d":null}]}}}',
]

/**
 * A random value that the schema takes. Ids come from a small stock, so that events refer to each
 * other now and then.
 */
export const sampleSchema = (
  given: unknown,
  random: () => number,
  ids: readonly string[],
): unknown => {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const sample = (schema: Schema): unknown => {
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return pick(schema.enum)
    if (schema.anyOf) return sample(pick(schema.anyOf))
    switch (schema.type) {
      case 'object':
        return Object.fromEntries(
          Object.entries(schema.properties ?? {})
            .filter(([name]) => schema.required?.includes(name) || random() < 0.5)
            .map(([name, member]) => [name, sample(member)]),
        )
      case 'array': {
        const length = (schema.minItems ?? 0) + Math.floor(random() * 3)
        return Array.from({ length }, () => sample(schema.items ?? {}))
      }
      case 'string':
        return textOf(schema.pattern)
      case 'integer':
        return (schema.minimum ?? 0) + Math.floor(random() * 4)
      case 'number':
        return Math.round(random() * 1000) / 8
      case 'boolean':
        return random() < 0.5
      case 'null':
        return null
      default:
        return JSON.parse(pick(anyJson)) as unknown
    }
  }
  const textOf = (pattern: string | undefined): string => {
    if (pattern === undefined) return pick(['', 'x', 'stop', 'tool-calls', '\0', '\ud800', 'ü\n'])
    if (pattern.includes('sha256')) return `sha256-${'0'.repeat(64)}`
    if (pattern.includes('T[0-9]')) return '2026-01-01T00:00:00Z'
    return pick(ids)
  }
  return sample(given as Schema)
}

/** A JSON text that differs from the value's in one random place, in a way no schema may expect. */
export const mutate = (value: unknown, random: () => number): unknown => {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  if (typeof value !== 'object' || value === null || random() < 0.15) {
    return JSON.parse(pick(anyJson)) as unknown
  }
  if (Array.isArray(value)) {
    const at = Math.floor(random() * (value.length + 1))
    return value.toSpliced(at, 1, mutate(value[at], random))
  }
  const members = Object.entries(value)
  const what = random()
  if (what < 0.2) return { ...value, [pick(['x', '__proto__', 'seq', ''])]: 1 }
  if (members.length === 0) return [value]
  const [key, member] = pick(members)
  if (what < 0.4) return Object.fromEntries(members.filter(([name]) => name !== key))
  return Object.fromEntries(
    members.map(([name, old]) => [name, name === key ? mutate(member, random) : old]),
  )
}
