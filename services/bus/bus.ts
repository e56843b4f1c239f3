/** "Session `sid` has reached `headSeq`." */
export type Ring = { readonly sid: number; readonly headSeq: number }

/** The doorbell between servers. It may lose, delay, double and disorder rings. */
export type Bus = AsyncDisposable & {
  /** Tells the other servers. Returns at once; what cannot be told is dropped. */
  ring(ring: Ring): void
  /** Called with what other servers rang, and with what this one did at most by accident. */
  onRing(listener: (rings: readonly Ring[]) => void): () => void
  /** Whether rings of others arrive at the moment. */
  readonly connected: boolean
  /** Resolves when rings of others arrive for the first time. */
  readonly ready: Promise<void>
}
