import type { TakeOverReport } from '../../../schema/events/turn.ts'
import type { OpenCall, OpenStep, SessionState } from '../session-state.ts'
import type { Closing } from './closings.ts'
import { closeParts, type Said } from './close-parts.ts'

type CallReport = TakeOverReport['calls'][number]

/** What a claim does to what the turn has open: what is closed before it, and what its report says. */
export type TakeOver = { readonly report: TakeOverReport; readonly closings: readonly Closing[] }

/**
 * Rules 7 and 11. Open parts end as partial, epochs and compactions of the turn fail. Of the calls
 * those that were never dispatched, wait for a request, have an answer that was not used, or whose
 * child session runs pass on as they are; any other dispatched `read` or `idempotent` call may be
 * dispatched again; a dispatched `once`, and what a provider was running, is unknown; one whose
 * input had not arrived is cancelled. A step that keeps no call fails.
 */
export const takeOver = (
  state: SessionState,
  runs: (childSessionId: string) => boolean,
  said: Said,
): TakeOver => {
  const { step } = state
  const calls = step ? reportCalls(step, runs) : []
  const settled = calls.filter(({ now }) => now === 'unknown' || now === 'cancelled')
  const failed = step !== undefined && settled.length === calls.length
  const epochs = Object.entries(state.epochs ?? {})
    .filter(([, epoch]) => epoch.turn)
    .map(([epochId]) => epochId)
  const compactions = Object.keys(state.compactions ?? {})
  return {
    report: {
      ...(step && { step: reportStep(step, failed) }),
      calls,
      ...(state.turn?.unknown && {
        unknown: state.turn.unknown.map(([messageId, callId]) => ({ messageId, callId })),
      }),
      requests: Object.keys(state.requests ?? {}),
      inputs: Object.keys(state.inputs ?? {}),
      parts: Object.keys(step?.parts ?? {}),
      epochs,
      compactions,
      ...(state.turn?.interrupt && { interrupted: true as const }),
    },
    closings: [
      ...settled.map(({ messageId, callId, now }) => ({
        type: 'tool.settled' as const,
        data: { messageId, callId, outcome: now as 'unknown' | 'cancelled', content: [] },
      })),
      ...(step ? closeParts(step, said) : []),
      ...(failed ? [failStep(step.messageId)] : []),
      ...compactions.map((compactionId) => ({
        type: 'compaction.failed' as const,
        data: { compactionId },
      })),
      ...epochs.map((epochId) => ({
        type: 'epoch.failed' as const,
        data: { epochId, reason: 'the turn changed hands before the epoch was sealed' },
      })),
    ],
  }
}

/** The step as the new owner has it: its calls as the report says, and closed to new parts (rule 7). */
export const inheritStep = (step: OpenStep, report: TakeOverReport): OpenStep => ({
  ...step,
  inherited: true,
  calls: Object.fromEntries(
    Object.entries(step.calls ?? {}).map(([callId, call]) => {
      const { now } = report.calls.find((c) => c.callId === callId) ?? {}
      const status = now === 'called' ? 'called' : call.status
      return [callId, voidIfUnused({ ...call, status })]
    }),
  ),
})

/** Rule 18: an `allow_once` that was not used is void. */
const voidIfUnused = (call: OpenCall): OpenCall =>
  call.answered === 'allow_once' ? { ...call, void: true } : call

const reportCalls = (step: OpenStep, runs: (childSessionId: string) => boolean): CallReport[] =>
  Object.entries(step.calls ?? {}).map(([callId, call]) => {
    const { answered } = call
    return {
      messageId: step.messageId,
      callId,
      was: call.status,
      now: callAfter(call, runs),
      ...(call.effect && { effect: call.effect }),
      ...(call.requestId !== undefined && { requestId: call.requestId }),
      ...(call.childSessionId !== undefined && { childSessionId: call.childSessionId }),
      ...(answered === true && { answered }),
      ...(answered !== undefined && answered !== true && { decision: answered }),
      ...(answered === 'allow_once' && { void: true as const }),
      ...(call.closed !== undefined && { closed: call.closed }),
    }
  })

const callAfter = (
  call: OpenCall,
  runs: (childSessionId: string) => boolean,
): CallReport['now'] => {
  if (call.status === 'streaming') return 'cancelled'
  if (call.status === 'streamed') return 'streamed'
  if (call.requestId !== undefined) return 'waiting'
  if (call.answered !== undefined) return call.status
  // Its result would have come with a response that is gone.
  if (call.provider) return 'unknown'
  if (call.status === 'called') return 'called'
  if (call.childSessionId !== undefined && runs(call.childSessionId)) return 'dispatched'
  return call.effect === 'once' ? 'unknown' : 'called'
}

const reportStep = (
  { messageId, attempt, finish }: OpenStep,
  failed: boolean,
): NonNullable<TakeOverReport['step']> =>
  failed
    ? { messageId, attempt, now: 'failed' }
    : { messageId, attempt, now: 'open', finish: finish ?? 'tool-calls' }

const failStep = (messageId: string): Closing => ({
  type: 'step.failed',
  data: { messageId, error: { kind: 'aborted', message: 'the turn changed hands' } },
})
