/**
 * Names of a session (`stemma.name`): what events bring into being is unique by them, what has been
 * closed is found by them. docs/protocol.md, "State".
 */
export const messageName = (messageId: string): string => `message:${messageId}`
export const partName = (messageId: string, attempt: number, partId: string): string =>
  `part:${messageId}/${attempt}/${partId}`
export const turnName = (turnId: string): string => `turn:${turnId}`
/** With the event's data: how the turn ended. */
export const turnEndName = (turnId: string): string => `ended:${turnId}`
/** The last claim or release of the turn. */
export const heldName = (turnId: string): string => `held:${turnId}`
/** With data: the first request to interrupt the turn, whose reason and author count. */
export const interruptName = (turnId: string): string => `interrupt:${turnId}`
/** With data: the request to interrupt the turn whose grace counts. */
export const graceName = (turnId: string): string => `grace:${turnId}`
/** With data: what was asked. */
export const requestName = (requestId: string): string => `request:${requestId}`
/** With data: the answer, or how it was closed. */
export const settledRequestName = (requestId: string): string => `settled:${requestId}`
/** With data: the decision that stands, and its end. */
export const permissionName = (requestId: string): string => `permission:${requestId}`
export const revokedName = (requestId: string): string => `revoked:${requestId}`
/** With data: that the call settled as unknown. */
export const unknownCallName = (messageId: string, callId: string): string =>
  `unknown:${messageId}/${callId}`
export const resolvedCallName = (messageId: string, callId: string): string =>
  `resolved:${messageId}/${callId}`
/** With data: what last happened to the effect: dispatched, settled or resolved. */
export const effectName = (effectKey: string): string => `effect:${effectKey}`
/** With data: the call that has an effect key. */
export const keyedCallName = (messageId: string, callId: string): string =>
  `keyed:${messageId}/${callId}`

/** Of one call that has guards: it stores nothing if the name is there (`void-call.ts`). */
export const sentName = (id: string): string => `sent:${id}`

/** The title that an importer gave last: a session's title is in no state. */
export const importedTitleName = 'title:imported'

/** Names whose look-up also brings the data of the event that they point to, and its time. */
export const kindsWithData: readonly string[] = [
  'ended',
  'interrupt',
  'grace',
  'request',
  'settled',
  'permission',
  'unknown',
  'effect',
  'keyed',
  'title',
]

/**
 * Facts that are no names of the session, looked up beside them: an owner as it is now
 * (`OwnerNow`), whether a child session runs, the database's clock (as `at`).
 */
export const ownerFact = (ownerId: string): string => `owner:${ownerId}`
export const childFact = (sessionId: string): string => `child:${sessionId}`
export const clockFact = 'clock:'

export const kindOf = (name: string): string => name.slice(0, name.indexOf(':'))
