import { fold } from '../../projections/transcript/fold.ts'
import { toMessage, type Message } from '../../projections/transcript/to-message.ts'
import { emptyView } from '../../projections/transcript/view.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { splitEvents } from '../../services/adapters/split-events.ts'
import type { Translation } from '../../services/adapters/translation.ts'
import { validateEvents } from '../../services/log/validate-event.ts'
import type { Rehearsal } from './rehearsal.ts'

/** Decides an import as the store does, in the calls that the command line makes. */
export const importInto = (
  rehearsal: Rehearsal,
  { origin, events }: Translation,
  eventsPerCall = 1000,
): { readonly added: number; readonly duplicates: number } => {
  const counts = { added: 0, duplicates: 0 }
  for (const batch of splitEvents(events, { events: eventsPerCall, bytes: 8 * 1024 * 1024 })) {
    const valid = validateEvents(batch, {
      pointer: '/events',
      mode: 'import',
      maxEventBytes: 1024 * 1024,
    })
    const { outcome } = rehearsal.accept({ kind: 'import', origin, events: valid })
    counts.added += outcome.added
    counts.duplicates += outcome.duplicates
  }
  return counts
}

/** The transcript of what was rehearsed, in the order of places. */
export const messagesOf = ({ log }: Rehearsal): Message[] => {
  const view = emptyView()
  for (const event of log) fold(view, { recordedAt: '', ...event } as StoredEvent)
  const parts = [...view.parts.values()]
  return [...view.messages.values()]
    .filter(({ place }) => place !== null)
    .toSorted((a, b) => a.place! - b.place!)
    .map((row) =>
      toMessage(
        'ses_1',
        row,
        parts.filter(({ messageId }) => messageId === row.messageId),
      ),
    )
}
