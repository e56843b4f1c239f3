import { Refusal } from '../../../schema/errors.ts'
import type { EventMeta } from '../../../schema/events/envelope.ts'
import { canonicalJson } from '../../json/canonical.ts'
import type { Command } from '../command.ts'
import type { IncomingEvent } from './apply-event.ts'

/** An event that is in the log under an id of the command. */
export type KnownEvent = {
  readonly seq: number
  readonly type: string
  readonly version: number
  readonly data: unknown
  readonly meta: EventMeta
}

/** Which events of the command the log has already, by id, with their seqs. */
export const findDuplicates = (
  command: Command,
  known: ReadonlyMap<string, KnownEvent> | undefined,
): ReadonlyMap<string, number> => {
  const duplicates = new Map<string, number>()
  if (command.kind !== 'append' && command.kind !== 'import') return duplicates
  const seen = new Map<string, IncomingEvent>()
  for (const event of command.events) {
    const twin = seen.get(event.eventId)
    if (twin && !sameContent(twin, event)) throw reused(event.eventId)
    seen.set(event.eventId, event)
    const there = known?.get(event.eventId)
    if (!there) continue
    if (!sameContent(there, event)) throw reused(event.eventId, there.seq)
    duplicates.set(event.eventId, there.seq)
  }
  return duplicates
}

type Content = Pick<KnownEvent, 'type' | 'version' | 'data' | 'meta'>

/** Same type, version, data and meta, as they were sent: `turnId`, `fence` and `given` are the store's. */
export const sameContent = (a: Content, b: Content): boolean =>
  a.type === b.type && a.version === b.version && contentOf(a) === contentOf(b)

const contentOf = ({ data, meta }: Content): string => {
  const { turnId: _turnId, fence: _fence, given, ...kept } = meta
  return canonicalJson([given ?? data, kept])
}

const reused = (eventId: string, seq?: number): Refusal =>
  new Refusal('event_id_reused', `event ${eventId} is there with other content`, {
    members: { eventId, ...(seq !== undefined && { seq }) },
  })
