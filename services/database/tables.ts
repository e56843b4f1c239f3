/**
 * The log's tables as Kysely reads them: int8 is a number, json is its text, timestamptz is ISO 8601.
 * A projection adds its own: `openKysely<Tables & TranscriptTables>(pool)`.
 */
export interface Tables {
  'stemma.tenant': { tenant: number; name: string }
  'stemma.session': {
    sid: number
    tenant: number
    session_id: string
    head: number
    state: string
    state_version: number
    created_at: string
  }
  'stemma.event': {
    sid: number
    seq: number
    tenant: number
    position: number
    event_id: string
    type: string
    version: number
    data: string
    meta: string
    occurred_at: string
    recorded_at: string
  }
  'stemma.name': { sid: number; name: string; seq: number }
  'stemma.receipt': {
    sid: number
    command_id: string
    route: string
    request_hash: string
    status: number
    result: string
    created_at: string
  }
}
