import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import { entryOf, withEntry, withMembers, withoutEntry } from '../session-state.ts'
import { bring, lookup } from './draft.ts'
import { messageName } from './names.ts'
import { needCall, needMessage } from './part-rules.ts'
import { anyTime, type RulesOf } from './rule.ts'
import { needStep } from './step-rules.ts'

type ContextEvent = Extract<
  EventType,
  'context.updated' | `compaction.${string}` | 'usage.recorded'
>
type FileEvent = Extract<EventType, `epoch.${string}` | `restore.${string}`>
type OtherEvent = Extract<
  EventType,
  `revert.${string}` | `workspace.${string}` | `shell.${string}` | 'note.added' | 'part.redacted'
>

export const contextRules: RulesOf<ContextEvent> = {
  'context.updated': anyTime,
  // Rule 16.
  'compaction.started': (draft, data) => {
    const { turn } = draft.state
    if (!draft.importing && data.reason === 'overflow' && turn?.overflow) {
      throw new Refusal('overflow_recovery_spent', `turn ${turn.turnId} has recovered once`)
    }
    if (!draft.importing && data.reason !== 'manual' && draft.state.futile) {
      throw new Refusal(
        'compaction_futile',
        'the last compaction did not shrink the context, and no message was added since',
      )
    }
    bring(draft, `compaction:${data.compactionId}`)
    bring(draft, messageName(data.messageId))
    draft.state = withMembers(draft.state, {
      compactions: withEntry(draft.state.compactions, data.compactionId, data.messageId),
      ...(turn && data.reason === 'overflow' && { turn: { ...turn, overflow: true as const } }),
    })
  },
  'compaction.ended': (draft, data) => {
    if (data.keepFromMessageId !== undefined) needMessage(draft, data.keepFromMessageId)
    endCompaction(draft, data.compactionId)
    const futile = data.tokensAfter >= data.tokensBefore
    draft.state = withMembers(draft.state, { futile: futile ? true : undefined })
  },
  'compaction.failed': (draft, data) => endCompaction(draft, data.compactionId),
  'usage.recorded': anyTime,
}

/** Epochs are opened and closed once; worktrees, attribution and reservations come with part 6. */
export const fileRules: RulesOf<FileEvent> = {
  'epoch.opened': (draft, data) => {
    if (data.messageId !== undefined) needMessage(draft, data.messageId)
    if (data.callId !== undefined)
      needCall(draft, needStep(draft, data.messageId ?? ''), data.callId)
    bring(draft, `epoch:${data.epochId}`)
    draft.state = withMembers(draft.state, {
      epochs: withEntry(draft.state.epochs, data.epochId, {
        worktreeId: data.worktreeId,
        ...(draft.state.turn && { turn: true as const }),
      }),
    })
  },
  'epoch.sealed': (draft, data) => endEpoch(draft, data.epochId),
  'epoch.failed': (draft, data) => endEpoch(draft, data.epochId),
  'restore.requested': anyTime,
  'restore.reserved': anyTime,
  'restore.applied': anyTime,
}

export const otherRules: RulesOf<OtherEvent> = {
  'revert.staged': anyTime,
  'revert.cleared': anyTime,
  'revert.committed': anyTime,
  'revert.reinstated': anyTime,
  'workspace.bound': anyTime,
  'workspace.return.updated': anyTime,
  'shell.started': (draft, data) => {
    bring(draft, messageName(data.messageId))
    draft.state = withMembers(draft.state, {
      shells: withEntry(draft.state.shells, data.messageId, true as const),
    })
  },
  'shell.ended': (draft, data) => {
    if (!entryOf(draft.state.shells, data.messageId)) {
      needMessage(draft, data.messageId)
      throw new Refusal('wrong_state', `message ${data.messageId} is no open shell`)
    }
    draft.state = withMembers(draft.state, {
      shells: withoutEntry(draft.state.shells, data.messageId),
    })
    messageAdded(draft)
  },
  'note.added': (draft, data) => {
    bring(draft, messageName(data.messageId))
    messageAdded(draft)
  },
  'part.redacted': anyTime,
}

type Drafted = Parameters<(typeof contextRules)['compaction.failed']>[0]

const endCompaction = (draft: Drafted, compactionId: string): void => {
  needOpenOf(draft, draft.state.compactions, 'compaction', compactionId)
  draft.state = withMembers(draft.state, {
    compactions: withoutEntry(draft.state.compactions, compactionId),
  })
}

/** Rule 16: what a model will see has changed, so another compaction may help. */
const messageAdded = (draft: Drafted): void => {
  if (draft.state.futile) draft.state = withMembers(draft.state, { futile: undefined })
}

const endEpoch = (draft: Drafted, epochId: string): void => {
  needOpenOf(draft, draft.state.epochs, 'epoch', epochId)
  draft.state = withMembers(draft.state, { epochs: withoutEntry(draft.state.epochs, epochId) })
}

const needOpenOf = (
  draft: Drafted,
  open: Readonly<Record<string, unknown>> | undefined,
  kind: 'compaction' | 'epoch',
  id: string,
): void => {
  if (entryOf(open, id) !== undefined) return
  if (lookup(draft, `${kind}:${id}`) === undefined) {
    throw new Refusal('dangling_reference', `there is no ${kind} ${id}`)
  }
  throw new Refusal('wrong_state', `${kind} ${id} is not open any more`)
}
