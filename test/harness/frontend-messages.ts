/** One message that a client of PostgreSQL sends, whole; `type` is '' for the startup packet. */
export type FrontendMessage = { readonly type: string; readonly raw: Buffer }

/** Cuts the client's stream into messages; what is not whole yet is kept for the next chunk. */
export const createMessageReader = (): ((chunk: Buffer) => FrontendMessage[]) => {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const messages: FrontendMessage[] = []
    for (;;) {
      // The startup packet alone has no type in front of its length.
      const offset = started ? 1 : 0
      if (rest.length < offset + 4) return messages
      const length = offset + rest.readUInt32BE(offset)
      if (rest.length < length) return messages
      const type = started ? String.fromCharCode(rest[0]!) : ''
      messages.push({ type, raw: rest.subarray(0, length) })
      rest = rest.subarray(length)
      started = true
    }
  }
}

/**
 * Says which SQL a message sets off, or undefined: a simple query, or the binding of a statement
 * that was parsed before.
 */
export const createSqlReader = (): ((message: FrontendMessage) => string | undefined) => {
  const parsed = new Map<string, string>()
  return ({ type, raw }) => {
    if (type === 'Q') return textAt(raw, 5).text
    if (type === 'P') {
      const name = textAt(raw, 5)
      parsed.set(name.text, textAt(raw, name.end).text)
    }
    if (type !== 'B') return undefined
    const portal = textAt(raw, 5)
    return parsed.get(textAt(raw, portal.end).text) ?? ''
  }
}

const textAt = (raw: Buffer, start: number): { text: string; end: number } => {
  const stop = raw.indexOf(0, start)
  return { text: raw.toString('utf8', start, stop), end: stop + 1 }
}
