import type { EventData, EventType } from '../../../schema/events/event-table.ts'
import { closeParts, type Said } from './close-parts.ts'
import type { Draft } from './draft.ts'
import type { OpenCall, OpenEpoch, OpenStep, SessionState } from '../session-state.ts'

/** An event that the store adds itself, before the event that causes it. */
export type Closing = {
  [T in EventType]: { readonly type: T; readonly data: EventData<T> }
}[EventType]

/**
 * What must be closed before `type` may be applied, in order (rules 3, 7, 12, 13): the requests of
 * calls, calls, parts, the step, requests of the turn, compactions, epochs, the turn, shells.
 * Nothing is closed for events that close nothing.
 */
export const closingsBefore = (
  state: SessionState,
  type: string,
  data: unknown,
  { importing, said }: Pick<Draft, 'importing' | 'said'>,
): readonly Closing[] => {
  switch (type) {
    case 'turn.ended':
      return state.turn?.turnId === (data as { turnId: string }).turnId
        ? closeTurn(state, said)
        : []
    case 'session.deleted':
      return [...closeAll(state, said), ...endTurn(state), ...closeShells(state)]
    case 'step.failed':
    case 'step.retried':
      return state.step?.messageId === (data as { messageId: string }).messageId
        ? closeStepContent(
            state,
            state.step,
            type === 'step.retried' ? 'superseded' : 'cancelled',
            said,
          )
        : []
    case 'step.ended':
      // A source's step may end with a part open; a host's may not (step-rules.ts).
      return importing && state.step?.messageId === (data as { messageId: string }).messageId
        ? closeParts(state.step, said)
        : []
    case 'tool.settled':
      return closeRequestOf(state, data as { messageId: string; callId: string; outcome: string })
    default:
      return []
  }
}

type CloseReason = 'cancelled' | 'superseded'

/** What the end of a turn closes: epochs of no turn run on. */
const closeTurn = (state: SessionState, said: Said): readonly Closing[] =>
  closeOpen(
    state,
    said,
    (epoch) => epoch.turn === true,
    'the turn ended before the epoch was sealed',
  )

/** What a delete closes beside the turn and the shells: all there is, in a turn or not. */
const closeAll = (state: SessionState, said: Said): readonly Closing[] =>
  closeOpen(state, said, () => true, 'the session was deleted before the epoch was sealed')

const closeOpen = (
  state: SessionState,
  said: Said,
  closesEpoch: (epoch: OpenEpoch) => boolean,
  epochReason: string,
): readonly Closing[] => {
  const step = state.step
  const inStep = step ? closeStepContent(state, step, 'cancelled', said) : []
  const closedRequests = new Set(
    inStep.flatMap((c) => (c.type === 'request.closed' ? [c.data.requestId] : [])),
  )
  return [
    ...inStep,
    ...(step
      ? [
          {
            type: 'step.failed' as const,
            data: {
              messageId: step.messageId,
              error: { kind: 'aborted' as const, message: 'the turn ended before the step' },
            },
          },
        ]
      : []),
    ...Object.keys(state.requests ?? {})
      .filter((requestId) => !closedRequests.has(requestId))
      .map((requestId) => closeRequest(requestId, 'cancelled')),
    ...Object.keys(state.compactions ?? {}).map((compactionId) => ({
      type: 'compaction.failed' as const,
      data: { compactionId },
    })),
    ...Object.entries(state.epochs ?? {})
      .filter(([, epoch]) => closesEpoch(epoch))
      .map(([epochId]) => ({
        type: 'epoch.failed' as const,
        data: { epochId, reason: epochReason },
      })),
  ]
}

/** Rule 3: a delete ends the running turn, as interrupted. */
const endTurn = (state: SessionState): readonly Closing[] =>
  state.turn
    ? [
        {
          type: 'turn.ended',
          data: {
            turnId: state.turn.turnId,
            outcome: 'interrupted',
            fence: state.turn.fence,
            stopReason: 'session_deleted',
          },
        },
      ]
    : []

const closeShells = (state: SessionState): readonly Closing[] =>
  Object.keys(state.shells ?? {}).map((messageId) => ({
    type: 'shell.ended' as const,
    data: { messageId, output: '' },
  }))

const closeStepContent = (
  state: SessionState,
  step: OpenStep,
  reason: CloseReason,
  said: Said,
): readonly Closing[] => [
  ...Object.entries(state.requests ?? {})
    .filter(
      // Another attempt leaves nothing of this one open (rule 13); a failed step, what is of no call.
      ([, { messageId, callId }]) =>
        messageId === step.messageId && (callId !== undefined || reason === 'superseded'),
    )
    .map(([requestId]) => closeRequest(requestId, reason)),
  ...Object.entries(step.calls ?? {}).map(([callId, call]) => ({
    type: 'tool.settled' as const,
    data: { messageId: step.messageId, callId, outcome: outcomeOfOpen(call), content: [] },
  })),
  ...closeParts(step, said),
]

/** Rule 12: never dispatched is cancelled; of the rest nobody knows. */
const outcomeOfOpen = (call: OpenCall): 'cancelled' | 'unknown' =>
  call.status === 'dispatched' || call.provider ? 'unknown' : 'cancelled'

const closeRequestOf = (
  state: SessionState,
  settled: { messageId: string; callId: string },
): readonly Closing[] =>
  Object.entries(state.requests ?? {})
    .filter(
      ([, request]) => request.messageId === settled.messageId && request.callId === settled.callId,
    )
    .map(([requestId]) => closeRequest(requestId, 'cancelled'))

const closeRequest = (requestId: string, reason: CloseReason): Closing => ({
  type: 'request.closed',
  data: { requestId, reason },
})
