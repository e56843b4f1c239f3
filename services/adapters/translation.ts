import type { IncomingEnvelope } from '../../schema/events/envelope.ts'

/** An event for `POST /v1/imports`: its id and time are always known. */
export type TranslatedEvent = IncomingEnvelope & {
  readonly eventId: string
  readonly occurredAt: string
}

/** What an adapter makes of one session of another agent. */
export type Translation = {
  readonly origin: { readonly system: string; readonly sessionId: string; readonly live: boolean }
  readonly sessionId: string
  /** In order; what was derived from the source's end carries `meta.importClosing` and comes last. */
  readonly events: readonly TranslatedEvent[]
  readonly report: TranslationReport
}

export type TranslationReport = {
  /** What was wrong in the source and how it came in all the same. */
  readonly mended: readonly string[]
  /** What did not come in, and why. */
  readonly left: readonly string[]
}

/** A translation refuses its source with this: a sentence for the person who imports. */
export class NotTranslatable extends Error {
  override readonly name = 'NotTranslatable'
}
