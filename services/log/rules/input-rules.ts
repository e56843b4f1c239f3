import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import {
  entryOf,
  withEntry,
  withMembers,
  withoutEntry,
  type WaitingInput,
} from '../session-state.ts'
import { bring, lookup, type Draft } from './draft.ts'
import { messageName } from './names.ts'
import type { RulesOf } from './rule.ts'

type InputEvent = Extract<EventType, `input.${string}`>

/** Keeps the state small: what waits is in it. */
const mostWaiting = 64

export const inputRules: RulesOf<InputEvent> = {
  'input.admitted': (draft, data) => {
    if (data.kind === 'prompt' && !data.text && !data.files?.length) {
      throw new Refusal('invalid_body', 'a prompt needs text or files', {
        faults: [{ pointer: '/text', detail: 'must be there, or files' }],
      })
    }
    if (Object.keys(draft.state.inputs ?? {}).length >= mostWaiting) {
      throw new Refusal('too_much_open', `${mostWaiting} inputs wait in this session`)
    }
    bring(draft, messageName(data.messageId))
    const waiting: WaitingInput = { kind: data.kind, delivery: data.delivery }
    draft.state = withMembers(draft.state, {
      inputs: withEntry(draft.state.inputs, data.messageId, waiting),
    })
  },
  // Rule 8: delivered in the turn that takes it up, once; later in it only if it is to steer.
  'input.delivered': (draft, data, derived) => {
    const input = needWaiting(draft, data.messageId)
    if (draft.state.turn?.turnId !== data.turnId) {
      throw new Refusal('wrong_state', `turn ${data.turnId} is not active`)
    }
    if (input.delivery === 'queue' && !derived && !draft.importing) {
      throw new Refusal('wrong_state', `input ${data.messageId} waits for the next turn`)
    }
    removeInput(draft, data.messageId)
    // Rule 16: a message was added.
    if (input.kind === 'prompt') draft.state = withMembers(draft.state, { futile: undefined })
  },
  'input.cancelled': (draft, data) => {
    needWaiting(draft, data.messageId)
    removeInput(draft, data.messageId)
  },
  'input.changed': (draft, data) => {
    const input = needWaiting(draft, data.messageId)
    draft.state = withMembers(draft.state, {
      inputs: withEntry(draft.state.inputs, data.messageId, { ...input, delivery: data.delivery }),
    })
  },
}

const needWaiting = (draft: Draft, messageId: string): WaitingInput => {
  const input = entryOf(draft.state.inputs, messageId)
  if (input) return input
  if (lookup(draft, messageName(messageId)) === undefined) {
    throw new Refusal('dangling_reference', `there is no input ${messageId}`)
  }
  throw new Refusal('input_delivered', `input ${messageId} does not wait any more`)
}

const removeInput = (draft: Draft, messageId: string): void => {
  draft.state = withMembers(draft.state, { inputs: withoutEntry(draft.state.inputs, messageId) })
}
