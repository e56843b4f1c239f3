import { Type } from 'typebox'
import { Id, strict } from '../events/shapes.ts'
import { LiveFrame } from '../socket/live.ts'
import { dataOf, reply } from './page.ts'

/** Frames in the order in which they were said. */
export const SayLive = strict({
  frames: Type.Array(LiveFrame, { minItems: 1, maxItems: 1000 }),
})

/** Parts with a gap: their next frame must be a `replace`. */
export const SayLiveReply = dataOf(
  reply({ resync: Type.Array(reply({ messageId: Id, partId: Id })) }),
)
