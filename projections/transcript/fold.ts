import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { answerRow, changeMessage, placeInput, startMessage } from './fold-messages.ts'
import { changePart, endText, settleCall, startCall, startText } from './fold-parts.ts'
import { own } from './own.ts'
import { putMessage, type TranscriptView } from './view.ts'

/**
 * Folds one event into the view, whose touched rows have been loaded. Types that are not known here
 * change nothing: a newer writer's events are skipped, not guessed. An importer's closing may be
 * followed by the source's own end of the same thing: the later one replaces it.
 */
export const fold = (view: TranscriptView, event: StoredEvent): void => {
  const handler = own<unknown>(handlers, event.type) as Handler<EventType> | undefined
  handler?.(view, event as never)
}

type Of<T extends EventType> = Extract<StoredEvent, { type: T }>
type Handler<T extends EventType> = (view: TranscriptView, event: Of<T>) => void

const handlers: { readonly [T in EventType]?: Handler<T> } = {
  'input.admitted': (view, event) => {
    if (event.data.kind !== 'prompt') return
    const { text, files } = event.data
    startMessage(view, event, event.data.messageId, 'user', null, {
      origin: 'input',
      ...(text !== undefined && { text }),
      ...(files !== undefined && { files }),
    })
  },
  'input.delivered': (view, event) => placeInput(view, event),
  'turn.started': (view, { data }) => {
    view.progress = { ...view.progress, turnId: data.turnId }
  },
  'turn.ended': (view, { meta }) => {
    // A re-opened import goes on in the same turn.
    if (meta.importClosing) return
    const { turnId: _, ...progress } = view.progress
    view.progress = progress
  },
  'step.started': (view, event) => {
    const { messageId, attempt, agent, model } = event.data
    startMessage(view, event, messageId, 'assistant', event.seq, { agent, model, attempt })
  },
  'step.retried': (view, event) =>
    changeMessage(view, event, event.data.messageId, (data) => ({
      ...data,
      attempt: event.data.attempt,
      spent: {
        cost: (data.spent?.cost ?? 0) + (data.cost ?? 0),
        ...(sumTokens(data.spent?.tokens, data.tokens) && {
          tokens: sumTokens(data.spent?.tokens, data.tokens)!,
        }),
      },
      cost: undefined,
      tokens: undefined,
    })),
  'step.streamed': (view, event) =>
    changeMessage(view, event, event.data.messageId, (data) => ({
      ...data,
      ...(event.data.cost !== undefined && { cost: event.data.cost }),
      ...(event.data.tokens !== undefined && { tokens: event.data.tokens }),
    })),
  'step.ended': (view, event) =>
    changeMessage(view, event, event.data.messageId, (data) => ({
      ...data,
      error: undefined,
      completedAt: event.occurredAt,
      finish: event.data.finish,
      rawFinish: event.data.rawFinish,
      cost: event.data.cost,
      tokens: event.data.tokens,
      providerState: event.data.providerState,
    })),
  'step.failed': (view, event) =>
    changeMessage(view, event, event.data.messageId, (data) => ({
      ...data,
      finish: undefined,
      completedAt: event.occurredAt,
      error: event.data.error,
      ...(event.data.cost !== undefined && { cost: event.data.cost }),
      ...(event.data.tokens !== undefined && { tokens: event.data.tokens }),
    })),
  'text.started': (view, event) => startText(view, event, event.data.partId, 'text'),
  'text.ended': (view, event) => endText(view, event, 'text'),
  'reasoning.started': (view, event) => startText(view, event, event.data.partId, 'reasoning'),
  'reasoning.ended': (view, event) => endText(view, event, 'reasoning'),
  'tool.input.started': (view, event) =>
    startCall(view, event, { name: event.data.name, status: 'streaming' }),
  'tool.input.ended': (view, event) =>
    startCall(view, event, {
      ...(event.data.name !== undefined && { name: event.data.name }),
      inputText: event.data.text,
      status: 'streaming',
    }),
  'tool.called': (view, event) => {
    const { name, input, effect, effectKey, executedBy, childSessionId, providerState } = event.data
    startCall(view, event, {
      name,
      input,
      inputText: undefined,
      effect,
      effectKey,
      executedBy,
      childSessionId,
      providerState,
      status: 'called',
    })
  },
  'tool.dispatched': (view, event) =>
    changePart(view, event, event.data.messageId, event.data.callId, (data) => ({
      ...data,
      status: 'dispatched',
      outcome: undefined,
      error: undefined,
      times: { ...data.times!, dispatched: event.occurredAt },
    })),
  'tool.settled': (view, event) => settleCall(view, event),
  'tool.resolved': (view, event) =>
    changePart(view, event, event.data.messageId, event.data.callId, (data) => ({
      ...data,
      resolved: {
        outcome: event.data.outcome,
        ...(event.data.content !== undefined && { content: event.data.content }),
        evidence: event.data.evidence,
      },
    })),
  'part.excluded': (view, event) =>
    changePart(view, event, event.data.messageId, event.data.partId, (data) => ({
      ...data,
      excluded: event.data.reason,
    })),
  'part.included': (view, event) =>
    changePart(view, event, event.data.messageId, event.data.partId, (data) => ({
      ...data,
      excluded: undefined,
    })),
  'request.opened': (view, event) => {
    const { requestId, messageId, callId } = event.data
    if (messageId === undefined || callId === undefined) return
    view.progress = {
      ...view.progress,
      requests: { ...view.progress.requests, [requestId]: { messageId, callId } },
    }
    changePart(view, event, messageId, callId, (data) => ({
      ...data,
      requestId,
      status: 'waiting',
      waitingFrom: data.status,
    }))
  },
  'request.answered': (view, event) => {
    answerRow(view, event)
    endRequest(view, event, event.data.requestId)
  },
  'request.closed': (view, event) => endRequest(view, event, event.data.requestId),
  'compaction.started': (view, event) => {
    const { compactionId, messageId, reason } = event.data
    view.progress = {
      ...view.progress,
      compactions: { ...view.progress.compactions, [compactionId]: messageId },
    }
    startMessage(view, event, messageId, 'compaction', event.seq, {
      compactionId,
      reason,
      status: 'running',
    })
  },
  'compaction.ended': (view, event) => {
    const { compactionId, summary, keepFromMessageId, model, cost, tokensBefore, tokensAfter } =
      event.data
    changeMessage(view, event, own(view.progress.compactions, compactionId), (data) => ({
      ...data,
      completedAt: event.occurredAt,
      status: 'completed',
      summary,
      keepFromMessageId,
      model,
      cost,
      tokensBefore,
      tokensAfter,
    }))
    endCompaction(view, compactionId)
  },
  'compaction.failed': (view, event) => {
    const { compactionId, error } = event.data
    changeMessage(view, event, own(view.progress.compactions, compactionId), (data) => ({
      ...data,
      completedAt: event.occurredAt,
      status: 'failed',
      error,
    }))
    if (!event.meta.importClosing) endCompaction(view, compactionId)
  },
  'shell.started': (view, event) =>
    startMessage(view, event, event.data.messageId, 'shell', event.seq, {
      command: event.data.command,
    }),
  'shell.ended': (view, event) =>
    changeMessage(view, event, event.data.messageId, (data) => ({
      ...data,
      completedAt: event.occurredAt,
      output: event.data.output,
      exit: event.data.exit,
    })),
  'note.added': (view, event) =>
    startMessage(view, event, event.data.messageId, event.data.role, event.seq, {
      text: event.data.text,
    }),
  'agent.selected': (view, event) =>
    startMessage(view, event, event.data.messageId, 'agent-selected', event.seq, {
      agent: event.data.agent,
    }),
  'model.selected': (view, event) =>
    startMessage(view, event, event.data.messageId, 'model-selected', event.seq, {
      model: event.data.model,
    }),
  'input.cancelled': (view, event) => {
    const row = view.messages.get(event.data.messageId)
    if (row) putMessage(view, { ...row, lastSeq: event.seq })
  },
  'revert.committed': (view, event) => cut(view, event),
  'revert.reinstated': (view, event) => cut(view, event),
}

const cut = (view: TranscriptView, event: Of<'revert.committed' | 'revert.reinstated'>): void => {
  const cuts = [...(view.progress.cuts ?? []), { seq: event.seq, lineage: event.data.lineage }]
  view.progress = { ...view.progress, cuts }
}

const endRequest = (
  view: TranscriptView,
  event: Of<'request.answered' | 'request.closed'>,
  requestId: string,
): void => {
  const request = own(view.progress.requests, requestId)
  if (!request) return
  changePart(view, event, request.messageId, request.callId, (data) =>
    data.status === 'waiting'
      ? { ...data, status: data.waitingFrom, waitingFrom: undefined }
      : data,
  )
  if (event.meta.importClosing) return
  const { [requestId]: _, ...requests } = view.progress.requests!
  view.progress = { ...view.progress, requests }
}

const endCompaction = (view: TranscriptView, compactionId: string): void => {
  const { [compactionId]: _, ...compactions } = view.progress.compactions ?? {}
  view.progress = { ...view.progress, compactions }
}

type Tokens = NonNullable<Of<'step.ended'>['data']['tokens']>

const sumTokens = (a: Tokens | undefined, b: Tokens | undefined): Tokens | undefined => {
  if (!a || !b) return a ?? b
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  }
}
