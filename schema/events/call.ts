import { Type } from 'typebox'

/** What running a call again would do: nothing, the same as once, or a second effect. */
export const CallEffect = Type.Union([
  Type.Literal('read'),
  Type.Literal('idempotent'),
  Type.Literal('once'),
])
