import { Refusal } from '../../../schema/errors.ts'
import type { EventData } from '../../../schema/events/event-table.ts'
import { lookup, note, type Draft } from './draft.ts'
import { effectName, keyedCallName } from './names.ts'

/** What last happened to an effect: a dispatch, a settling, or what was found out later. */
type EffectEvent = EventData<'tool.dispatched'> &
  Partial<Pick<EventData<'tool.settled'>, 'outcome'>>

/**
 * Rule 10: an effect that an earlier call has under way, has had, or may have had is not repeated,
 * unless that call is named. Models mint a new callId when they try again.
 */
export const checkEffect = (
  draft: Draft,
  effectKey: string,
  repeats: string | undefined,
  self: Pick<EffectEvent, 'messageId' | 'callId'>,
): void => {
  const last = lookup(draft, effectName(effectKey))?.data as EffectEvent | undefined
  if (!last || last.callId === repeats) return
  // What a provider has begun may be recorded as dispatched, too.
  if (last.messageId === self.messageId && last.callId === self.callId) return
  if (last.outcome === undefined || last.outcome === 'ok' || last.outcome === 'unknown') {
    const { messageId, callId, outcome = 'dispatched' } = last
    throw effectRepeated(callId, { effectKey, messageId, callId, outcome })
  }
  // The last call did not have the effect; the one that it meant to repeat did, or may have.
  const keyed = lookup(draft, keyedCallName(last.messageId, last.callId))
  const { repeats: callId } = (keyed?.data ?? {}) as Partial<EventData<'tool.called'>>
  if (callId !== undefined && callId !== repeats) {
    throw effectRepeated(callId, { effectKey, callId })
  }
}

const effectRepeated = (callId: string, members: Readonly<Record<string, string>>): Refusal =>
  new Refusal('effect_repeated', `call ${callId} has had, or may have had, this effect`, {
    members,
  })

/** What became of a call counts, if no later call has taken its effect over. */
export const noteEffectOf = (
  draft: Draft,
  effectKey: string,
  { messageId, callId }: { readonly messageId: string; readonly callId: string },
): void => {
  const last = lookup(draft, effectName(effectKey))?.data as EffectEvent | undefined
  if (last?.messageId === messageId && last.callId === callId) note(draft, effectName(effectKey))
}
