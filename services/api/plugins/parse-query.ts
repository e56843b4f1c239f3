/** Marks a query string that is not percent-encoded UTF-8; the validation refuses it. */
export const malformedQuery = Symbol('malformed query')

/**
 * The members of a query string, decoded. One that is there twice becomes an array, which no schema
 * takes. Never throws: it runs before there is a request that could be answered.
 */
export const parseQuery = (text: string): Record<string, unknown> => {
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  if (text === '') return query
  try {
    for (const pair of text.split('&')) {
      if (pair === '') continue
      const at = pair.indexOf('=')
      const name = decode(at < 0 ? pair : pair.slice(0, at))
      const value = at < 0 ? '' : decode(pair.slice(at + 1))
      query[name] = name in query ? [query[name], value].flat() : value
    }
    return query
  } catch {
    return Object.assign(Object.create(null) as Record<string, unknown>, { [malformedQuery]: true })
  }
}

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))
