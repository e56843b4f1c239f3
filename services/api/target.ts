import { deriveId, newId, type IdPrefix } from '../log/new-id.ts'
import type { CommandOptions, Target } from '../log/command.ts'
import { idempotencyKeyOf, receiptOf } from './plugins/idempotency.ts'
import { ifMatchOf } from './plugins/if-match.ts'
import { principalOf } from './plugins/principal.ts'
import type { AnyRequest } from './type-provider.ts'

/** The session that a request is about, in its caller's tenant. */
export const targetOf = (
  request: { readonly raw: object },
  { sessionId }: { readonly sessionId: string },
): Target => ({ tenant: principalOf(request).tenant, sessionId })

/** What every write may carry in its headers. Throws Refusal `invalid_header`. */
export const optionsOf = (request: AnyRequest): CommandOptions => ({
  ...ifMatchOf(request),
  ...receiptOf(request),
})

/**
 * The id of something that the request brings into being and did not name. Under an
 * `Idempotency-Key` it follows from the key, so that the same request names the same thing.
 */
export const idFor = (request: AnyRequest, prefix: IdPrefix, ...scope: string[]): string => {
  const key = idempotencyKeyOf(request)
  if (key === undefined) return newId(prefix)
  return deriveId(prefix, String(principalOf(request).tenant), ...scope, key)
}
