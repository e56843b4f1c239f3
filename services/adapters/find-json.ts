/** Where a JSON value stands in a text: `end` is behind its last character. */
export type JsonExtent = { readonly start: number; readonly end: number }

export type FoundJson = {
  /** Pieces that begin with a bracket at the start of a line and end with its partner. */
  readonly extents: readonly JsonExtent[]
  /** Where a piece begins whose end is missing. */
  readonly torn: number | undefined
}

/**
 * Looks for objects and arrays in a text that is not JSON as a whole: each begins a line, as a program
 * prints them behind its status lines. Only brackets and strings are looked at; whether a piece is
 * JSON is for a parser to say.
 */
export const findJson = (text: string): FoundJson => {
  const extents: JsonExtent[] = []
  let torn: number | undefined
  let at = 0
  for (;;) {
    lineStart.lastIndex = at
    const found = lineStart.exec(text)
    if (!found) return { extents, torn }
    const start = found.index + found[0].length - 1
    const end = endOf(text, start)
    if (end === undefined) torn ??= start
    else extents.push({ start, end })
    // A status line such as "[info] reading" is a piece of its own; one that never ends is skipped.
    at = end ?? start + 1
  }
}

const lineStart = /(?<=^|[\n\r])[ \t]*[{[]/g

/** Behind the bracket that closes the one at `start`. */
const endOf = (text: string, start: number): number | undefined => {
  let depth = 0
  structure.lastIndex = start
  for (let found = structure.exec(text); found; found = structure.exec(text)) {
    const [token] = found
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') {
      depth -= 1
      if (depth === 0) return structure.lastIndex
    }
  }
  return undefined
}

const structure = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs
