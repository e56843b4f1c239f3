import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { LiveFrame, LiveKind, LiveOut } from '../../schema/socket/live.ts'

/**
 * A part that is being said. `text` is undefined after a gap, until the part is replaced, and for good
 * where the part is too long to be kept: its event has it.
 */
export type LivePart = {
  readonly turnId?: string
  readonly fence?: number
  readonly messageId: string
  readonly attempt: number
  readonly partId: string
  readonly kind: LiveKind
  readonly text: string | undefined
  readonly tooLong?: true
}

export type LiveParts = ReadonlyMap<string, LivePart>

/** The longest text that is kept, and passed on; of more its event tells. */
const longestText = 1024 * 1024
/** Of one session, likewise. */
const mostParts = 256
const mostText = 8 * 1024 * 1024

type Addition = {
  readonly parts: LiveParts
  /** What listeners get; undefined where the frame says nothing new. */
  readonly out: LiveOut | undefined
  /** Whether the sender must send the part anew, as `replace`. */
  readonly gap: boolean
}

/**
 * What a frame adds. A piece that was said already adds nothing, one that overlaps its rest, and one
 * behind a gap leaves the part without a text, which listeners are told once.
 */
export const addFrame = (parts: LiveParts, frame: LiveFrame): Addition => {
  const { turnId, fence, messageId, partId, kind, attempt = 1 } = frame
  const key = liveKey(messageId, attempt, partId, kind)
  const known = parts.get(key)
  const said = known === undefined ? '' : known.text
  const of = {
    ...(turnId !== undefined && { turnId }),
    ...(fence !== undefined && { fence }),
    messageId,
    attempt,
    partId,
    kind,
  }
  const withText = (text: string | undefined): LiveParts => new Map(parts).set(key, { ...of, text })
  const others = sizeOf(parts) - (known?.text?.length ?? 0)
  const isTooLong = (text: string): boolean =>
    text.length > longestText || others + text.length > mostText
  const resync = { resync: true, messageId, partId } as const

  // A sender who was told of a gap here would send it all anew, with every piece.
  const givenUp = (): Addition => ({
    parts: new Map(parts).set(key, { ...of, text: undefined, tooLong: true }),
    out: resync,
    gap: false,
  })

  if (known?.tooLong) return { parts, out: undefined, gap: false }
  if (!known && parts.size >= mostParts) {
    const begins = 'replace' in frame || frame.offset === 0
    return { parts, out: begins ? resync : undefined, gap: false }
  }
  if ('replace' in frame) {
    if (isTooLong(frame.replace)) return givenUp()
    return {
      parts: withText(frame.replace),
      out: { ...of, offset: 0, replace: frame.replace },
      gap: false,
    }
  }
  const { offset, delta } = frame
  if (said === undefined) return { parts, out: undefined, gap: true }
  if (offset > said.length) return { parts: withText(undefined), out: resync, gap: true }
  const fresh = delta.slice(said.length - offset)
  if (fresh === '' && known) return { parts, out: undefined, gap: false }
  if (isTooLong(said + fresh)) return givenUp()
  return {
    parts: withText(said + fresh),
    out: { ...of, offset: said.length, delta: fresh },
    gap: false,
  }
}

const sizeOf = (parts: LiveParts): number => {
  let size = 0
  for (const { text } of parts.values()) size += text?.length ?? 0
  return size
}

/** What is still being said after an event of the session. */
export const endParts = (parts: LiveParts, event: StoredEvent): LiveParts => {
  if (parts.size === 0) return parts
  const ends = endsOf(event)
  if (!ends) return parts
  const left = [...parts].filter(([, part]) => !ends(part))
  return left.length === parts.size ? parts : new Map(left)
}

const endsOf = (event: StoredEvent): ((part: LivePart) => boolean) | undefined => {
  switch (event.type) {
    case 'text.ended':
    case 'reasoning.ended': {
      const { messageId, partId } = event.data
      return (part) => part.messageId === messageId && part.partId === partId
    }
    case 'tool.input.ended':
    case 'tool.called': {
      const { messageId, callId } = event.data
      return (part) =>
        part.messageId === messageId && part.partId === callId && part.kind === 'tool-input'
    }
    case 'tool.settled': {
      const { messageId, callId } = event.data
      return (part) => part.messageId === messageId && part.partId === callId
    }
    case 'step.ended':
    case 'step.failed':
    case 'shell.ended': {
      const { messageId } = event.data
      return (part) => part.messageId === messageId
    }
    case 'step.retried': {
      const { messageId, attempt } = event.data
      return (part) => part.messageId === messageId && part.attempt < attempt
    }
    // Whatever was being said under another hand is not said any more.
    case 'turn.started':
    case 'turn.claimed': {
      const { fence } = event.data
      return (part) => part.fence !== undefined && part.fence < fence
    }
    case 'turn.released':
    case 'turn.ended':
      return (part) => part.fence !== undefined
    case 'session.deleted':
      return () => true
    default:
      return undefined
  }
}

/** All that a part has said, as one frame; a `resync` if it has a gap. */
export const wholeOf = ({ text, tooLong: _tooLong, ...part }: LivePart): LiveOut =>
  text === undefined
    ? { resync: true, messageId: part.messageId, partId: part.partId }
    : { ...part, offset: 0, replace: text }

export const liveKey = (
  messageId: string,
  attempt: number,
  partId: string,
  kind: LiveKind,
): string => `${messageId}/${attempt}/${partId}/${kind}`
