import { Refusal } from '../../../schema/errors.ts'
import type { EventData } from '../../../schema/events/event-table.ts'
import { lookup, note, type Draft } from './draft.ts'
import { effectName } from './names.ts'

/** What last happened to an effect: a dispatch, a settling, or what was found out later. */
type EffectEvent = EventData<'tool.dispatched'> &
  Partial<Pick<EventData<'tool.settled'>, 'outcome'>>

/**
 * Rule 10: an effect that an earlier call has under way, has had, or may have had is not repeated,
 * unless that call is named. Models mint a new callId when they try again.
 */
export const checkEffect = (draft: Draft, effectKey: string, repeats: string | undefined): void => {
  const earlier = lookup(draft, effectName(effectKey))?.data as EffectEvent | undefined
  if (!earlier || earlier.callId === repeats) return
  const { messageId, callId, outcome } = earlier
  if (outcome !== undefined && outcome !== 'ok' && outcome !== 'unknown') return
  throw new Refusal('effect_repeated', `call ${callId} has had, or may have had, this effect`, {
    members: { effectKey, messageId, callId, outcome: outcome ?? 'dispatched' },
  })
}

/** What was found out of an unknown call counts, if no later call has taken its effect over. */
export const noteResolvedEffect = (
  draft: Draft,
  effectKey: string,
  { messageId, callId }: EventData<'tool.resolved'>,
): void => {
  const last = lookup(draft, effectName(effectKey))?.data as EffectEvent | undefined
  if (last?.messageId === messageId && last.callId === callId) note(draft, effectName(effectKey))
}
