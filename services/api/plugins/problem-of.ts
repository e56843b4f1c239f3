import { errorTable, Refusal } from '../../../schema/errors.ts'
import type { Problem } from '../../../schema/http/problem.ts'
import { ConnectionLost, DatabaseError } from '../../database/connection.ts'

/**
 * The problem that an error is answered with. `internal` says that it is our fault: it must be
 * reported, and the problem says nothing of it. `writes` tells whether the request may have stored
 * something before the error.
 */
export const problemOf = (
  error: unknown,
  writes: boolean,
): { readonly problem: Problem; readonly internal: boolean } => {
  const refusal = refusalOf(error, writes)
  const { code, members, faults } = refusal
  const { title, status } = errorTable[code]
  return {
    internal: code === 'internal',
    problem: {
      ...members,
      type: `urn:stemma:error:${code}`,
      title,
      status,
      detail: refusal.message,
      code,
      ...(faults.length > 0 && {
        errors: faults.map(({ pointer, detail }) => ({ pointer, detail })),
      }),
    },
  }
}

/** When to come back after a 429 or 503, in seconds. */
export const retryAfter = ({ code, status }: Problem): number | undefined => {
  if (status !== 429 && status !== 503) return undefined
  return errorTable[code].retry ? 1 : 60
}

const internal = (cause: unknown): Refusal =>
  new Refusal('internal', 'the server failed; what happened is in its own output', { cause })

const refusalOf = (error: unknown, writes: boolean): Refusal => {
  if (error instanceof Refusal) return error.code === 'internal' ? internal(error) : error
  if (error instanceof ConnectionLost) {
    return writes
      ? new Refusal('outcome_unknown', 'the connection to the database was lost', { cause: error })
      : new Refusal('overloaded', 'the connection to the database was lost', { cause: error })
  }
  if (error instanceof DatabaseError) {
    return passing.test(error.code)
      ? new Refusal('overloaded', 'the database is not available at the moment', { cause: error })
      : internal(error)
  }
  return ofFramework(error) ?? internal(error)
}

/**
 * SQLSTATEs that pass by themselves: connections, resources, operators' interventions and time
 * limits, locks, serialisation, and a database that cannot be entered.
 */
const passing = /^(08|28|3D|53|55P03|57|40)/

const ofFramework = (error: unknown): Refusal | undefined => {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Refusal('too_large', bodyTooLarge)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new Refusal('unsupported_media_type', 'send JSON, with Content-Type: application/json')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Refusal('invalid_header', 'Content-Length is not the length of the body')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Refusal('invalid_id', 'the path is not percent-encoded UTF-8')
    case 'FST_ERR_NOT_FOUND':
      return new Refusal('route_not_found', 'there is no such route')
    default:
      // What else the framework finds wrong with a request: its body ended early, for one.
      return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
        ? new Refusal('invalid_body', 'the request could not be read')
        : undefined
  }
}

const bodyTooLarge =
  'the body is larger than this server takes: put larger content to PUT /v1/blobs/{sha256} and ' +
  'refer to it, and send fewer events at once'
