/** One server-sent event: its name, its data, and its id if it has one. */
export type SseEvent = { readonly name: string; readonly data: string; readonly id?: string }

/** Reads server-sent events out of bytes, however they are cut. Comments are dropped. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let fields: Fields = empty
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      const text = line.endsWith('\r') ? line.slice(0, -1) : line
      if (text !== '') {
        fields = withLine(fields, text)
        continue
      }
      const { name = 'message', data, id } = fields
      fields = empty
      if (data !== undefined) yield { name, data, ...(id !== undefined && { id }) }
    }
  }
}

type Fields = { readonly name?: string; readonly data?: string; readonly id?: string }

const empty: Fields = {}

const withLine = (fields: Fields, line: string): Fields => {
  const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
  switch (field) {
    case 'event':
      return { ...fields, name: value }
    case 'data':
      return { ...fields, data: fields.data === undefined ? value : `${fields.data}\n${value}` }
    case 'id':
      return { ...fields, id: value }
    default:
      return fields
  }
}
