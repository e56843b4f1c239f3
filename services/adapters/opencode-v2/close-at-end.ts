import { derive, type Writer } from './writer.ts'

/**
 * Closes what the source's end left open. A later copy of the source may go on where this one ends,
 * so each of these is marked, and gives way to what the source says then. The order is that of the
 * store's own closings: requests, calls, parts, the step, the turn.
 */
export const closeAtEnd = (
  writer: Writer,
  end: { readonly id: string; readonly at: string },
): void => {
  const cause = { ...end, closing: true as const }
  const { step, turn } = writer
  const incomplete = step !== undefined && step.calls.size === 0 && step.parts.size === 0
  if (step) {
    const { messageId } = step
    for (const [callId, { requestId }] of step.calls) {
      if (requestId === undefined) continue
      const data = { requestId, reason: 'cancelled' as const }
      derive(writer, cause, `end: request of ${callId}`, 'request.closed', data)
    }
    for (const [callId, { dispatched }] of step.calls) {
      const outcome = dispatched ? ('unknown' as const) : ('cancelled' as const)
      const data = { messageId, callId, outcome, content: [] }
      derive(writer, cause, `end: call ${callId}`, 'tool.settled', data)
    }
    for (const [partId, kind] of step.parts) {
      const data = { messageId, partId, text: '', partial: true }
      derive(writer, cause, `end: part ${partId}`, `${kind}.ended`, data)
    }
    const error = incomplete
      ? { kind: 'incomplete' as const, message: 'the stream ended without a finish' }
      : { kind: 'aborted' as const, message: 'the source ends before the step' }
    derive(writer, cause, 'end: step', 'step.failed', { messageId, error })
    writer.mended.add(`step ${messageId} never ended: it failed as ${error.kind}`)
  }
  if (!turn) return
  const outcome = incomplete ? ('failed' as const) : ('interrupted' as const)
  derive(writer, cause, 'end: turn', 'turn.ended', { ...turn, outcome })
}
