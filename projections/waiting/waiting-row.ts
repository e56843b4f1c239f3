/**
 * What waits in a session for an owner: an input that was not delivered, by its messageId; an answer
 * that was given while no turn was active and that none has taken up, by its requestId.
 */
export type WaitingRow = {
  readonly kind: 'input' | 'answer'
  readonly id: string
  /** Of the admission, of the answer. */
  readonly seq: number
}
