import { Type, type Static, type TObject, type TProperties } from 'typebox'

/** An object that takes the members named and no others. */
export const strict = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false })

export const idPattern = '^[A-Za-z0-9._:~-]{1,128}$'

/** Ids, keys and effect keys. */
export const Id = Type.String({ pattern: idPattern })
export const Seq = Type.Integer({ minimum: 0 })
export const Attempt = Type.Integer({ minimum: 1 })
export const Fence = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** Any JSON: kept as it is, never looked into. */
export const Json = Type.Unknown()
export const JsonObject = Type.Record(Type.String(), Type.Unknown())

export const Model = strict({
  modelId: Type.String(),
  providerId: Type.String(),
  variant: Type.Optional(Type.String()),
})
export type Model = Static<typeof Model>

/** A decimal in USD. */
export const Cost = Type.Number({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })
export const Tokens = strict({
  input: Count,
  output: Count,
  reasoning: Count,
  cacheRead: Count,
  cacheWrite: Count,
})
export type Tokens = Static<typeof Tokens>

/** Content that lies beside the event, under `PUT /v1/blobs/{sha256}`. */
export const BlobReference = strict({
  $blob: Type.String({ pattern: '^sha256-[0-9a-f]{64}$' }),
  size: Type.Integer({ minimum: 0 }),
  mediaType: Type.Optional(Type.String()),
})

export const FileContent = strict({
  type: Type.Literal('file'),
  blob: Type.Optional(BlobReference),
  uri: Type.Optional(Type.String()),
  mediaType: Type.String(),
  name: Type.Optional(Type.String()),
})
export const TextContent = strict({ type: Type.Literal('text'), text: Type.String() })
export const Content = Type.Array(Type.Union([TextContent, FileContent]))
export type Content = Static<typeof Content>
export const Files = Type.Array(FileContent)

export const Question = strict({
  question: Type.String(),
  header: Type.Optional(Type.String()),
  options: Type.Array(strict({ label: Type.String(), description: Type.Optional(Type.String()) })),
  multiple: Type.Optional(Type.Boolean()),
  custom: Type.Optional(Type.Boolean()),
})
export type Question = Static<typeof Question>

/** One entry per question: the labels or texts chosen, `null` for skipped. */
export const Answers = Type.Array(Type.Union([Type.Array(Type.String()), Type.Null()]))

export const Permission = strict({
  action: Type.String(),
  resources: Type.Array(Type.String()),
  metadata: Type.Optional(JsonObject),
})
/** In which way nothing was answered (rule 19). */
export const CloseReason = Type.Union(
  [
    Type.Literal('rejected'),
    Type.Literal('dismissed'),
    Type.Literal('replied'),
    Type.Literal('cancelled'),
    Type.Literal('expired'),
    Type.Literal('superseded'),
  ],
  { description: 'in which way a request was closed that nobody answered' },
)
export const Decision = Type.Union([
  Type.Literal('allow_once'),
  Type.Literal('allow_always'),
  Type.Literal('reject_once'),
  Type.Literal('reject_always'),
])

/** What a person did with an elicitation, in the words of the Model Context Protocol. */
export const ElicitationAction = Type.Union([
  Type.Literal('accept'),
  Type.Literal('decline'),
  Type.Literal('cancel'),
])

export const Location = strict({
  host: Type.Optional(Type.String()),
  directory: Type.String(),
  workspaceId: Type.Optional(Type.String()),
})
export type Location = Static<typeof Location>

export const ErrorKind = Type.Union([
  Type.Literal('incomplete'),
  Type.Literal('length'),
  Type.Literal('overflow'),
  Type.Literal('rate-limit'),
  Type.Literal('provider'),
  Type.Literal('transport'),
  Type.Literal('aborted'),
  Type.Literal('tool'),
  Type.Literal('internal'),
  Type.Literal('unspecified'),
])
export const EventError = strict({
  kind: ErrorKind,
  message: Type.String(),
  retryable: Type.Optional(Type.Boolean()),
  status: Type.Optional(Type.Integer()),
  source: Type.Optional(Type.String()),
})
export type EventError = Static<typeof EventError>

export const By = strict({ subject: Type.String(), device: Type.Optional(Type.String()) })

/** What names a point: a message, a part of it, a request, or a turn. */
const Point = Type.Union([
  strict({ messageId: Id }),
  strict({ messageId: Id, partId: Id }),
  strict({ requestId: Id }),
  strict({ turnId: Id }),
])
export const Boundary = Type.Union([strict({ before: Point }), strict({ through: Point })])

const LineageEntry = strict({
  sessionId: Id,
  fromPlace: Seq,
  throughPlace: Seq,
  asOfSeq: Seq,
  except: Type.Array(Id),
})
const LineageClip = strict({
  messageId: Id,
  source: strict({ sessionId: Id, messageId: Id }),
  asOfSeq: Seq,
  parts: Type.Array(Id),
  closed: Type.Array(Id),
})
/** What a session shows, in order: ranges of places, and messages cut inside. */
export const Lineage = Type.Array(Type.Union([LineageEntry, LineageClip]))
export type Lineage = Static<typeof Lineage>

export const Reopened = strict({ requestId: Id, reopens: Id, messageId: Id, callId: Id })

export const Origin = strict({
  system: Type.String({ minLength: 1, maxLength: 128 }),
  sessionId: Type.String({ minLength: 1, maxLength: 512 }),
  live: Type.Optional(Type.Boolean()),
})
