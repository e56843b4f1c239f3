import { createHash } from 'node:crypto'
import { Refusal } from '../../../schema/errors.ts'
import { canonicalJson } from '../../json/canonical.ts'
import type { CommandOptions } from '../../log/command.ts'
import type { AnyRequest } from '../type-provider.ts'

const keyPattern = /^[A-Za-z0-9._:~-]{1,128}$/

/** The request's `Idempotency-Key`, if it has one. Throws Refusal `invalid_header`. */
export const idempotencyKeyOf = ({ headers }: AnyRequest): string | undefined => {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !keyPattern.test(key)) {
    throw new Refusal('invalid_header', 'Idempotency-Key is not 1 to 128 of A-Z a-z 0-9 . _ : ~ -')
  }
  return key
}

/**
 * What the log writes down beside the command, so that the same request under the same key is
 * answered again and another one is refused. Requests are the same if method, path, query and
 * canonical body are.
 */
export const receiptOf = (request: AnyRequest): Pick<CommandOptions, 'receipt'> => {
  const commandId = idempotencyKeyOf(request)
  if (commandId === undefined) return {}
  const { method, params, query, body } = request
  const route = `${method} ${request.routeOptions.url}`
  // No query is written as none, so that receipts of old hold.
  const asked = { ...(params as object), ...(hasMembers(query) && { '?': query }) }
  return receiptFor(commandId, route, asked, body)
}

const hasMembers = (query: unknown): boolean => Object.keys(query ?? {}).length > 0

/** The same for a request that came another way than by HTTP: it counts as the one of `route`. */
export const receiptFor = (
  commandId: string,
  route: string,
  params: unknown,
  body: unknown,
): Pick<CommandOptions, 'receipt'> => {
  const requestHash = createHash('sha256')
    .update(`${route}\n${canonicalJson(params ?? {})}\n${canonicalJson(body ?? null)}`)
    .digest('hex')
  return { receipt: { commandId, route, requestHash } }
}
