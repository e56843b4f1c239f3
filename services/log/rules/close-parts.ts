import type { OpenStep } from '../session-state.ts'
import type { Closing } from './closings.ts'
import type { Draft } from './draft.ts'

export type Said = Draft['said']

/** The ends of the step's open parts, with what each has said as far as this server heard it. */
export const closeParts = ({ messageId, attempt, parts }: OpenStep, said: Said): Closing[] =>
  Object.entries(parts ?? {}).map(([partId, kind]) => ({
    type: kind === 'text' ? ('text.ended' as const) : ('reasoning.ended' as const),
    data: {
      messageId,
      partId,
      text: said?.get(`${messageId}/${attempt}/${partId}/${kind}`) ?? '',
      partial: true,
    },
  }))
