/** How the service refuses. One row per code: `docs/errors.md` is held against this table by a test. */
export type ErrorRow = {
  /** HTTP status of the problem. */
  readonly status: number
  /** The same sentence for every problem of this code. */
  readonly title: string
  /** Whether the same request, sent again unchanged, may succeed. */
  readonly retry: boolean
}

const row = (status: number, title: string, retry = false): ErrorRow => ({ status, title, retry })

export const errorTable = {
  invalid_json: row(400, 'The body is not JSON that can be kept unchanged'),
  invalid_body: row(400, 'The body does not have the shape this route takes'),
  invalid_query: row(400, 'The query string does not have the shape this route takes'),
  invalid_id: row(400, 'An id is not 1 to 128 of A-Z a-z 0-9 . _ : ~ -'),
  invalid_cursor: row(400, 'The cursor was not issued for this list'),
  invalid_limit: row(400, 'The limit is out of range'),
  invalid_header: row(400, 'A header does not have the form it must have'),
  unknown_type: row(400, 'The event type is not known to this server'),
  unauthorized: row(401, 'No valid token was given'),
  forbidden: row(403, 'The caller may not do this'),
  reserved_type: row(403, 'Only the store writes events of this type'),
  route_not_found: row(404, 'There is no such route'),
  session_not_found: row(404, 'There is no such session'),
  message_not_found: row(404, 'The session shows no such message'),
  request_not_found: row(404, 'The session has no such request'),
  owner_not_found: row(404, 'No owner of that id has registered'),
  permission_not_found: row(404, 'The session has no such standing permission'),
  turn_not_found: row(404, 'The session has no such turn'),
  input_not_found: row(404, 'The session has no such input'),
  projection_not_found: row(404, 'There is no such projection'),
  rebuild_not_found: row(404, 'The projection has no such rebuild'),
  method_not_allowed: row(405, 'The route does not take this method'),
  expected_seq: row(409, 'The session is not at the expected seq'),
  duplicate_id: row(409, 'The id is taken'),
  dangling_reference: row(409, 'An event names something that does not exist'),
  wrong_state: row(409, 'Something that an event names is not in the state the event needs'),
  event_id_reused: row(409, 'The event id is there already, with other content'),
  turn_active: row(409, 'The session has a turn that has not ended'),
  no_turn: row(409, 'The session has no such turn to write in'),
  fence_required: row(409, 'A turn is active: its events need turnId and fence'),
  fenced: row(409, 'The turn has changed hands'),
  turn_settled: row(409, 'The turn has ended'),
  owner_alive: row(409, 'The owner of the turn is alive'),
  owner_superseded: row(409, 'The owner has registered again'),
  owner_exited: row(409, 'The owner has exited'),
  owner_lapsed: row(409, 'The lease of the owner has lapsed'),
  open_tool_calls: row(409, 'A step cannot end while a tool call is unsettled'),
  incomplete_stream: row(409, 'A step cannot end without a known finish'),
  attempts_spent: row(409, 'The turn has had all the failed attempts in a row that it may have'),
  replay_vetoed: row(409, 'The attempt did what must not be done twice'),
  too_much_open: row(409, 'More is open in the session than it may hold'),
  effect_repeated: row(409, 'An earlier call has had, or may have had, this effect'),
  overflow_recovery_spent: row(409, 'The turn has recovered from an overflow once already'),
  compaction_futile: row(409, 'The last compaction did not shrink the context'),
  request_settled: row(409, 'The request is not open any more'),
  input_delivered: row(409, 'The input does not wait any more'),
  import_diverged: row(409, 'The session was written to since it was imported'),
  rebuild_refused: row(409, 'The projection cannot be rebuilt in this way as it stands'),
  session_deleted: row(410, 'The session is deleted'),
  precondition_failed: row(412, 'The session is not at the seq that If-Match names'),
  too_large: row(413, 'The request or one of its events is too large'),
  unsupported_media_type: row(415, 'The body must be application/json'),
  upgrade_required: row(426, 'The route is a WebSocket'),
  key_reused: row(422, 'The Idempotency-Key was used for another request'),
  too_many: row(429, 'Too many requests', true),
  internal: row(500, 'The server failed', true),
  outcome_unknown: row(503, 'It is not known yet whether the write was stored', true),
  overloaded: row(503, 'The server cannot take more now', true),
  schema_newer: row(
    503,
    'The database was migrated by a newer build that this one must not write to',
  ),
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errorTable

/** One place in a body that is wrong: an RFC 6901 JSON Pointer and what is wrong there. */
export type Fault = { readonly pointer: string; readonly detail: string }

/**
 * A request that is answered with a problem. Thrown where the error is born; never holds payloads.
 * `members` are extra members of the problem (for example `headSeq`, `fence`, `ownerId`).
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly members: Readonly<Record<string, unknown>>
  readonly faults: readonly Fault[]

  constructor(
    code: ErrorCode,
    detail: string,
    options: {
      members?: Readonly<Record<string, unknown>>
      faults?: readonly Fault[]
      cause?: unknown
    } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.members = options.members ?? {}
    this.faults = options.faults ?? []
  }
}
