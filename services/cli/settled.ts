import type { Page } from './read-transcript.ts'

export type MessageReply = Page['data'][number]

/** What has been printed of a transcript, and what waits until it is complete. */
export type Settled = {
  /**
   * Takes what follows the floor, in the order of the transcript, as it is now. Gives those to print
   * now; they count as printed.
   */
  readonly take: (messages: readonly MessageReply[]) => readonly MessageReply[]
  /** What the last take left. */
  readonly waiting: () => readonly MessageReply[]
  /** The place of the open message that holds what comes after it. */
  readonly held: () => number | undefined
  /** Every message whose place is at or below this one is printed. */
  readonly floor: () => number
}

/**
 * A message is printed when it is complete, once for each attempt. While an agent's message is open,
 * what comes after it waits, too, so that what is printed stands in the order of the transcript; a
 * shell may stay open for long, and holds nothing. `isDead`: nobody will complete this open message.
 */
export const trackSettled = (isDead: (message: MessageReply) => boolean): Settled => {
  const printed = new Set<string>()
  let waiting: readonly MessageReply[] = []
  let last = 0
  let heldAt: number | undefined
  return {
    take: (messages) => {
      const taken: MessageReply[] = []
      const left: MessageReply[] = []
      let isHeld = false
      heldAt = undefined
      for (const message of messages) {
        last = Math.max(last, message.seq)
        const key = `${message.messageId}/${message.attempt ?? 1}`
        if (printed.has(key)) continue
        const isOpen = !isComplete(message) && !isDead(message)
        if (isOpen && message.type !== 'shell') {
          isHeld = true
          heldAt ??= message.seq
        }
        if (isOpen || isHeld) left.push(message)
        else {
          printed.add(key)
          taken.push(message)
        }
      }
      waiting = left
      return taken
    },
    waiting: () => waiting,
    held: () => heldAt,
    floor: () => (waiting[0] ? waiting[0].seq - 1 : last),
  }
}

/** Some are complete from the first. */
export const isComplete = ({ type, completedAt }: MessageReply): boolean =>
  completedAt !== undefined || (type !== 'assistant' && type !== 'shell' && type !== 'compaction')
