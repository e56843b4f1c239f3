import type { StoredEvent } from '../../schema/events/envelope.ts'

/**
 * The events of a session as a careless host might have written them, within the rules: call ids
 * that are unique in their message only, blank texts, halves of characters, inputs that are no
 * objects, names that no provider takes, sealed thoughts without words, errors without content, and
 * compactions that keep messages from before.
 */
export const spoil = (random: () => number): ((event: StoredEvent) => StoredEvent) => {
  const ids = new Map<string, Map<string, string>>()
  const messages: string[] = []
  const pick = <T>(...items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const idOf = (messageId: string, callId: string): string => {
    const calls = ids.get(messageId) ?? new Map<string, string>()
    ids.set(messageId, calls)
    const shape = calls.size === 2 ? `call:~${'long'.repeat(15)}.` : 'call_'
    const id = calls.get(callId) ?? `${shape}${calls.size}`
    calls.set(callId, id)
    return id
  }
  return (event) => {
    const data: Record<string, unknown> = { ...(event.data as object) }
    const { messageId } = data
    if (typeof messageId === 'string') {
      messages.push(messageId)
      if (typeof data['callId'] === 'string') data['callId'] = idOf(messageId, data['callId'])
      // What was excluded may be a call.
      const known = ids.get(messageId)?.get(String(data['partId']))
      if (known !== undefined) data['partId'] = known
    }
    switch (event.type) {
      case 'input.admitted':
        if (data['kind'] === 'prompt') data['text'] = pick('do it', '  ', 'x\ud800', undefined)
        if (random() < 0.3) data['files'] = [{ type: 'file', mediaType: 'image/png' }]
        break
      case 'text.ended':
      case 'reasoning.ended':
        data['text'] = pick('said', '', '\n', '\u0000', '\udc00')
        if (random() < 0.4) data['providerState'] = { signature: 's' }
        if (random() < 0.2) data['partial'] = true
        break
      case 'tool.called':
        data['name'] = pick('bash', 'mcp.tool', '', 'x'.repeat(70))
        data['input'] = pick<unknown>({}, null, [1], 'text', { a: '\ud800' })
        break
      case 'tool.settled':
        data['content'] = pick([], [{ type: 'text', text: '' }], [{ type: 'text', text: 'done' }])
        if (data['outcome'] === 'error') data['error'] = { kind: 'tool', message: pick('', 'bad') }
        break
      case 'note.added':
        data['text'] = pick('note', '')
        break
      case 'compaction.ended':
        data['summary'] = pick('all', '')
        if (random() < 0.6) data['keepFromMessageId'] = pick(...messages)
        break
      default:
    }
    return { ...event, data } as StoredEvent
  }
}
