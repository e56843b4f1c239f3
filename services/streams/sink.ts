/** Where the frames of one subscription go. What is a text here is JSON that goes out as it is. */
export type Sink = {
  /**
   * Runs work that reads and writes a page, when the reader has room for it and it is this
   * subscription's turn.
   */
  readonly turn: <T>(work: () => Promise<T>) => Promise<T>
  /** `cursor` for the stream of all sessions only. */
  readonly event: (envelope: string, at: { readonly seq: number; readonly cursor?: string }) => void
  readonly caughtUp: (at: CaughtUp) => void
  /** The last frame: where the subscriber was cannot be gone on from. */
  readonly reset: (reset: Reset) => void
  /** The last frame: there is nothing more to follow. */
  readonly ended: (ended: Ended) => void
}

/** `log` names the log that the place belongs to: a subscriber that comes back says it. */
export type CaughtUp =
  | { readonly seq: number; readonly log: string }
  | { readonly cursor: string; readonly log: string }
export type Reset = { readonly reason: 'other_log' | 'ahead'; readonly oldestSeq: number }
export type Ended = { readonly reason: 'deleted' | 'forbidden'; readonly afterSeq: number }
