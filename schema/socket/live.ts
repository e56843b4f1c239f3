import { Type, type Static } from 'typebox'
import { Attempt, Fence, Id, strict } from '../events/shapes.ts'

export const LiveKind = Type.Union([
  Type.Literal('text'),
  Type.Literal('reasoning'),
  Type.Literal('tool-input'),
  Type.Literal('tool-progress'),
])

const part = {
  turnId: Type.Optional(Id),
  fence: Type.Optional(Fence),
  messageId: Id,
  attempt: Type.Optional(Attempt),
  partId: Id,
  kind: LiveKind,
}

const Offset = Type.Integer({
  minimum: 0,
  description: 'where the delta begins in the part, in UTF-16 code units',
})

/** What a part says so far: a piece at its place, or all of it anew. Never stored. */
export const LiveDelta = strict({ ...part, offset: Offset, delta: Type.String() })
export const LiveReplace = strict({
  ...part,
  offset: Type.Optional(Type.Literal(0)),
  replace: Type.String(),
})
export const LiveFrame = Type.Union([LiveDelta, LiveReplace])
export type LiveFrame = Static<typeof LiveFrame>
export type LiveKind = Static<typeof LiveKind>

/** What subscribers get: frames with their attempt, or that a part has a gap until it is replaced. */
export type LiveOut =
  | (LiveFrame & { readonly attempt: number; readonly offset: number })
  | { readonly resync: true; readonly messageId: string; readonly partId: string }
