/** Where a JSON value stands in a text: `end` is behind its last character. */
export type JsonExtent = { readonly start: number; readonly end: number }

export type FoundJson = {
  /** Pieces that begin with a bracket at the start of a line and end with its partner. */
  readonly extents: readonly JsonExtent[]
  /** Where the first piece begins whose end is missing. */
  readonly torn: number | undefined
}

/** Status lines such as "[info" may begin a piece that never ends; a file of them is not looked through. */
const mostTorn = 16

/**
 * Looks for objects and arrays in a text that is not JSON as a whole: each begins a line, as a program
 * prints them behind its status lines. Only brackets and strings are looked at; whether a piece is
 * JSON is for a parser to say.
 */
export const findJson = (text: string): FoundJson => {
  const extents: JsonExtent[] = []
  let torn: number | undefined
  let at = 0
  for (let tries = 0; tries < mostTorn;) {
    lineStart.lastIndex = at
    const found = lineStart.exec(text)
    if (!found) break
    const start = found.index + found[0].length - 1
    const end = endOf(text, start)
    if (end === undefined) {
      torn ??= start
      tries += 1
    } else extents.push({ start, end })
    at = end ?? start + 1
  }
  return { extents, torn }
}

const lineStart = /(?<=^|[\n\r])[ \t]*[{[]/g

/** Behind the bracket that closes the one at `start`. A loop: a file's depth and length are its own. */
const endOf = (text: string, start: number): number | undefined => {
  let depth = 0
  for (let i = start; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code === quote) {
      const end = endOfString(text, i)
      if (end === undefined) return undefined
      i = end
    } else if (code === openBrace || code === openBracket) depth += 1
    else if (code === closeBrace || code === closeBracket) {
      depth -= 1
      if (depth === 0) return i + 1
    }
  }
  return undefined
}

const endOfString = (text: string, start: number): number | undefined => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1
    if (slashes % 2 === 0) return end
  }
  return undefined
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
