import { partKey } from '../projections/transcript/rows.ts'
import type { TranscriptView } from '../projections/transcript/view.ts'
import type { StoredEvent } from '../schema/events/envelope.ts'

export type LiveKind = 'text' | 'reasoning' | 'tool-input' | 'tool-progress'

/** A frame of the live channel. Offsets count UTF-16 code units, as a string's `length` does. */
export type LiveFrame = LiveText | LiveResync

type LiveText = {
  readonly turnId: string
  readonly fence: number
  readonly messageId: string
  /** The message's current one, if it is left out. */
  readonly attempt?: number
  /** Of a tool its callId. */
  readonly partId: string
  readonly kind: LiveKind
  readonly offset: number
  /** What comes at `offset`, behind all that was said. */
  readonly delta?: string
  /** What stands from `offset` on, instead of all that was said from there. */
  readonly replace?: string
}

type Frame = LiveText & { readonly attempt: number }

/** Deltas of the part were lost on the way. */
type LiveResync = { readonly resync: true; readonly messageId: string; readonly partId: string }

/** What has been said so far of a part that has not ended. */
export type LivePart = {
  readonly turnId: string
  readonly fence: number
  readonly messageId: string
  readonly attempt: number
  readonly partId: string
  readonly kind: LiveKind
  readonly text: string
  /** Something is missing behind `text`, until a frame replaces it. */
  readonly stale?: true
}

export type Live = {
  /** In the order of their first frames; the same array until something changes. */
  parts(): readonly LivePart[]
  take(frame: LiveFrame): boolean
  /** Drops what the event ends. Call it after the event was folded into the view. */
  observe(event: StoredEvent): void
}

/** The live parts of a transcript whose rows are in `view`. */
export const openLive = (view: TranscriptView): Live => {
  const parts = new Map<string, LivePart>()
  /** Frames below it are of a turn that has ended or changed hands. */
  let fence = 0
  let listed: readonly LivePart[] = []

  const drop = (gone: (part: LivePart) => boolean): void => {
    for (const [key, part] of parts) if (gone(part)) parts.delete(key)
    if (parts.size < listed.length) listed = [...parts.values()]
  }
  const passTo = (next: number): void => {
    fence = next
    drop((part) => part.fence < fence)
  }
  const put = (key: string, part: LivePart): true => {
    parts.set(key, part)
    listed = [...parts.values()]
    return true
  }

  return {
    parts: () => listed,
    take: (given) => {
      const { messageId, partId } = given
      const key = `${messageId}/${partId}`
      const before = parts.get(key)
      if ('resync' in given) {
        return before !== undefined && !before.stale && put(key, { ...before, stale: true })
      }
      const frame = { attempt: view.messages.get(messageId)?.data.attempt ?? 1, ...given }
      if (frame.fence < fence || hasEnded(view, frame)) return false
      if (before && isOlder(frame, before)) return false
      if (frame.fence > fence) passTo(frame.fence)
      drop((part) => part.messageId === messageId && part.attempt < frame.attempt)
      const going = parts.get(key)
      const next = said(going?.kind === frame.kind ? going : undefined, frame)
      return next !== undefined && put(key, next)
    },
    observe: (event) => {
      switch (event.type) {
        case 'turn.started':
          // The log's word counts: the turns of an import may all have one fence.
          passTo(event.data.fence)
          break
        case 'turn.claimed':
        case 'turn.released':
          passTo(Math.max(fence, event.data.fence))
          break
        case 'turn.ended':
          passTo(Math.max(fence, event.data.fence + 1))
          break
        default:
          drop((part) => ends(event, part))
      }
    },
  }
}

/** Whether an event, of a part or a step, ends this part. */
const ends = (event: StoredEvent, part: LivePart): boolean => {
  switch (event.type) {
    case 'text.ended':
    case 'reasoning.ended':
      return event.data.messageId === part.messageId && event.data.partId === part.partId
    case 'tool.input.ended':
    case 'tool.called':
      return isCall(event.data, part) && part.kind === 'tool-input'
    case 'tool.settled':
      return isCall(event.data, part)
    case 'step.retried':
      return event.data.messageId === part.messageId && part.attempt < event.data.attempt
    case 'step.ended':
    case 'step.failed':
      return event.data.messageId === part.messageId
    default:
      return false
  }
}

const isCall = (data: { messageId: string; callId: string }, part: LivePart): boolean =>
  data.messageId === part.messageId && data.callId === part.partId

const isOlder = (frame: Frame, part: LivePart): boolean =>
  frame.fence < part.fence || (frame.fence === part.fence && frame.attempt < part.attempt)

/** Whether the transcript has the end of what the frame is of: the frame came late. */
const hasEnded = (view: TranscriptView, frame: Frame): boolean => {
  const row = view.messages.get(frame.messageId)
  if (!row) return false
  const { attempt = 1, completedAt } = row.data
  if (completedAt !== undefined || frame.attempt < attempt) return true
  const part = view.parts.get(partKey(frame.messageId, frame.attempt, frame.partId))
  if (!part) return false
  switch (frame.kind) {
    case 'text':
    case 'reasoning':
      return part.endSeq !== null
    case 'tool-input':
      return part.data.status !== 'streaming' || part.data.inputText !== undefined
    case 'tool-progress':
      return part.data.status === 'settled'
    default:
      return false
  }
}

/** The part after the frame; undefined if the frame says nothing new. */
const said = (before: LivePart | undefined, frame: Frame): LivePart | undefined => {
  const { turnId, fence, messageId, attempt, partId, kind, offset, delta = '', replace } = frame
  const text = before?.text ?? ''
  const spoken = (now: string, stale: boolean): LivePart => ({
    turnId,
    fence,
    messageId,
    attempt,
    partId,
    kind,
    text: now,
    ...(stale && { stale: true as const }),
  })
  if (offset > text.length) return before?.stale ? undefined : spoken(text, true)
  if (replace !== undefined) return spoken(text.slice(0, offset) + replace, false)
  if (before?.stale) return undefined
  if (before && offset + delta.length <= text.length) return undefined
  return spoken(text + delta.slice(text.length - offset), false)
}
