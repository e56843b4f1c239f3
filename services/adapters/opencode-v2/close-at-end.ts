import { abandonedError, abandonedKind } from './translate-steps.ts'
import { derive, type Cause, type Writer } from './writer.ts'

/**
 * Closes what the source's end left open. A later copy of the source may go on where this one ends,
 * so each of these is marked, and gives way to what the source says then. The order is that of the
 * store's own closings: requests, calls, parts, the step, the turn.
 */
export const closeAtEnd = (writer: Writer, end: { id: string; at: string }): void => {
  const cause: Cause = { ...end, closing: true }
  const { step, turn } = writer
  const kind = step && abandonedKind(step)
  if (step && kind) {
    const { messageId } = step
    const calls = [...step.calls.values()]
    for (const { callId, requestId } of calls) {
      if (requestId === undefined) continue
      const data = { requestId, reason: 'cancelled' as const }
      derive(writer, cause, `end: request of ${callId}`, 'request.closed', data)
    }
    for (const { callId, dispatched } of calls) {
      const outcome = dispatched ? ('unknown' as const) : ('cancelled' as const)
      const data = { messageId, callId, outcome, content: [] }
      derive(writer, cause, `end: call ${callId}`, 'tool.settled', data)
    }
    for (const { partId, kind: of } of step.parts.values()) {
      const data = { messageId, partId, text: '', partial: true }
      derive(writer, cause, `end: part ${partId}`, `${of}.ended`, data)
    }
    const error = abandonedError(kind)
    derive(writer, cause, 'end: step', 'step.failed', { messageId, error })
    writer.mended.add(`step ${messageId} never ended: it failed as ${kind}`)
  }
  if (!turn) return
  const outcome = kind === 'incomplete' ? ('failed' as const) : ('interrupted' as const)
  derive(writer, cause, 'end: turn', 'turn.ended', { ...turn, outcome })
  writer.mended.add(`turn ${turn.turnId} never ended: it ${outcomeWords[outcome]}`)
}

const outcomeWords = { failed: 'failed', interrupted: 'was interrupted' } as const
